/* The job that this process is a rank of: joining it, who of it is there, leaving it. */
#ifndef GNOMON_RUNTIME_JOB_H
#define GNOMON_RUNTIME_JOB_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher_rank.h"

#define GN_REASON_SIZE 160

/* The names and words of those whose ranks meet. */
struct gn_job_terms {
	const char *prefix;    /* of the job's directories; without a hyphen */
	const char *purpose;   /* at their end: those of different purposes do not meet */
	const char *directory; /* the user's variable that says where the directories are, */
	const char *timeout; /* and the one that says how many seconds ranks wait for each other */
	const char *gone;    /* what became of a rank that ended and left no word */
	const char *remedy;  /* where what is sent takes too much memory */
	const char *not_merged; /* why, where a merge returned a negative number */
	int waits_for_living;	/* however long that takes */
	/*
	 * A child that acts for the parent that joined finds the descriptor, the directory and more
	 * in these variables; it has the parent's terms. NULL: there are no such children.
	 */
	const struct gn_job_child *child;
};

struct gn_job_child {
	const char *descriptor, *directory, *is_shortened, *outcome;
	const char *parent; /* who sets them */
	const struct gn_job_terms *terms;
};

struct gn_job {
	const struct gn_job_terms *terms;
	struct gn_launch launch;
	int is_one_node; /* the directory is this node's, the job is larger */
	int has_locks;	 /* that tell of ranks on all nodes */
	int is_own;	 /* joined by this process, not by its parent */
	pid_t process;
	int folder; /* the directory, open */
	int here;   /* the file that is locked as long as the rank lives, open */
	char where[PATH_MAX];
};

/* Of this process, joined if it is not yet. 0, or a negative errno with gn_tree_error(). */
int gn_job_get(const struct gn_job_terms *terms, struct gn_job **job);

/*
 * The same, early. Returns the descriptor that is locked as long as the rank lives, or a negative
 * errno; where: the job's directory, or why there is none.
 */
int gn_job_join(const struct gn_job_terms *terms, char *where, size_t size);

enum gn_presence {
	GN_RANK_ABSENT, /* it never came */
	GN_RANK_ALIVE,
	GN_RANK_UNSURE, /* it came, and what became of it cannot be seen from here */
	GN_RANK_GONE,
};

/* why: of those who are gone, as they said, or "". */
enum gn_presence gn_job_presence(const struct gn_job *job, int rank, char why[GN_REASON_SIZE]);

/* How many ranks have come, alive or not. */
int gn_job_present(const struct gn_job *job);

/* Others shall not wait for this rank: why says what became of it. */
void gn_job_resign(struct gn_job *job, const char *why);

/* Leaves; the last one removes the directory. is_short: some ranks are not expected any more. */
void gn_job_leave(struct gn_job *job, int is_short);

/* When the launcher told the job to end, in gn_monotonic_ns(), or 0. */
int64_t gn_job_shortened_ns(void);

/* What the user's variable says, in nanoseconds. */
int64_t gn_job_timeout_ns(const struct gn_job_terms *terms);

/* Leaves the job, if it was joined and not left since. */
void gn_job_end(const struct gn_job_terms *terms);

/* The launcher ends the job: what is not there soon is missing. For signal handlers. */
void gn_job_shorten_deadline(void);

/* Keeps a sentence for gn_tree_error(); returns `error`. */
__attribute__((format(printf, 2, 3))) int gn_tree_failed(int error, const char *format, ...);

/* Of the calling thread's last failure: what failed, why, and the remedy. */
const char *gn_tree_error(void);

#endif
