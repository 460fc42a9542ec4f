/* The job that this process is a task of, and the directory in which its tasks meet. */
#ifndef GNOMON_PLUGINS_JOB_H
#define GNOMON_PLUGINS_JOB_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HPM_REASON_SIZE 160

/* What a launcher's variables say. */
struct hpm_launch {
	int task;
	int tasks;
	int local_task;	 /* rank among those of this node; -1: not known */
	int local_tasks; /* on this node; 0: not known */
	int is_common;	 /* `name` is the same on all nodes */
	char name[17];	 /* of the job, from what is unique to it */
};

/* 0, or -ENODATA: no launcher, or one task only. */
int hpm_launch_find(struct hpm_launch *launch);

struct hpm_job {
	struct hpm_launch launch;
	int is_count;	 /* hpmcount's; else the program's own sections */
	int is_one_node; /* the directory is this node's, the job is larger */
	int has_locks;	 /* that tell of tasks on all nodes */
	int is_own;	 /* joined by this process, not by its parent */
	pid_t process;
	int folder; /* the directory, open */
	int here;   /* the file that is locked as long as the task lives, open */
	char where[PATH_MAX];
};

/* Of this process, joined if it is not yet. 0, or a negative errno with hpm_tree_error(). */
int hpm_job_get(const char *purpose, struct hpm_job **job);

enum hpm_presence {
	HPM_ABSENT, /* it never came */
	HPM_ALIVE,
	HPM_UNSURE, /* it came, and what became of it cannot be seen from here */
	HPM_GONE,
};

/* why: of those who are gone, as they said, or "". */
enum hpm_presence hpm_job_presence(const struct hpm_job *job, int task, char why[HPM_REASON_SIZE]);

/* How many tasks have come, alive or not. */
int hpm_job_came(const struct hpm_job *job);

/* Others shall not wait for this task: why says what became of it. */
void hpm_job_resign(struct hpm_job *job, const char *why);

/* Leaves; the last one removes the directory. is_short: some tasks are not expected any more. */
void hpm_job_leave(struct hpm_job *job, int is_short);

/* When the launcher told the job to end, in hpm_now_ns(), or 0. */
int64_t hpm_job_hurried_ns(void);

int64_t hpm_now_ns(void);

/* HPM_AGGREGATE_TIMEOUT in nanoseconds. */
int64_t hpm_timeout_ns(void);

/* Keeps a sentence for hpm_tree_error(); returns `error`. */
__attribute__((format(printf, 2, 3))) int hpm_tree_failed(int error, const char *format, ...);

/* --- folder.c --------------------------------------------------------------------------------- */

/*
 * Opens the job's directory below `base`, which is made if it is not there: this user's own, and
 * closed to others. Each task's nth visit is to the nth directory in it, so that programs that run
 * one after the other in a job do not meet. Returns the descriptor of that one, with its path in
 * `where`, or a negative errno with the reason there.
 */
int hpm_folder_enter(const char *base, const char *name, int task, char where[PATH_MAX]);

/*
 * Removes the job's directory if nobody is in it. all: how many tasks must have been there.
 * has_locks: else a task is in it until its file says something.
 */
void hpm_folder_remove(const char *where, int folder, int task, int tasks, int all, int has_locks);

/*
 * Whether a lock that is held on one node is seen on all: some file systems of clusters keep
 * flock(2) to each node, or have none.
 */
int hpm_folder_has_locks(int folder);

/* Whether someone holds the lock of a file in a directory: 1, 0, or a negative errno. */
int hpm_folder_is_locked(int folder, const char *name, char *content, size_t size);

#endif
