/* What the tree's transports share. */
#ifndef GNOMON_PLUGINS_TREE_H
#define GNOMON_PLUGINS_TREE_H

#include <gnomon/hpm_tree.h>

#include "job.h"

#define HPM_FANOUT 16
#define HPM_GAPS_MAX 64

/* More than any aggregator sends. */
#define HPM_BLOB_MAX ((uint64_t)1 << 30)

/* Reasons that are told of tasks; the last one takes in all that there is no room for. */
struct hpm_gaps {
	int n;
	struct {
		int first, last, is_in;
		char why[HPM_REASON_SIZE];
	} gap[HPM_GAPS_MAX];
};

void hpm_gaps_add(struct hpm_gaps *gaps, int first, int last, int is_in, const char *why);
void hpm_gaps_join(struct hpm_gaps *gaps, const struct hpm_gaps *other);

/* The lowest task first; the texts stay those of `gaps`. Returns how many there are. */
int hpm_gaps_list(const struct hpm_gaps *gaps, hpm_gap list[HPM_GAPS_MAX]);

/* What goes up and down: a blob, and what is missing in it. */
struct hpm_load {
	int has_blob;
	hpm_blob blob;
	struct hpm_gaps gaps;
};

/* *bytes is for free(3). 0, or ENOMEM. */
int hpm_load_pack(const struct hpm_load *load, unsigned char **bytes, size_t *size);

/* Empty after a failure: EBADMSG or ENOMEM. */
int hpm_load_unpack(const unsigned char *bytes, size_t size, struct hpm_load *load);

void hpm_load_free(struct hpm_load *load);

struct hpm_merging {
	hpm_merge *merge;
	void *context;
};

/* Puts the load of task `from` and those below it into `into` and empties it. */
void hpm_load_merge(struct hpm_load *into, struct hpm_load *from, int task,
		    const struct hpm_merging *merging);

struct hpm_transport {
	/* At the root `load` becomes the total, elsewhere it is emptied. 0, or an errno. */
	int (*reduce)(hpm_tree *tree, struct hpm_load *load, const struct hpm_merging *merging);
	/* The root's load becomes everybody's. 0, or an errno; ESTALE if it went without us. */
	int (*share)(hpm_tree *tree, struct hpm_load *load);
	void (*close)(hpm_tree *tree);
};

struct hpm_tree {
	const struct hpm_transport *transport; /* NULL: alone */
	void *state;
	struct hpm_job *job; /* NULL: none */
	int64_t came_ns;     /* it has waited for the others since then; 0: not yet */
	int task, tasks;
	int is_root;
	int round; /* of reduce and share, counted together */
	int is_out;
	char own_why[HPM_REASON_SIZE]; /* of this task's program, to be told */
	struct hpm_gaps gaps;
	hpm_gap told[HPM_GAPS_MAX];
};

/* 0, or an errno: the next transport is tried; ENOTSUP: it is not for this process. */
int hpm_tree_open_mpi(hpm_tree *tree);
int hpm_tree_open_files(hpm_tree *tree);

/* Waits a little, the longer the longer it has been waited. */
void hpm_pause(int64_t since_ns);

#endif
