/* A tree and its ways of sending: MPI, or files in the job's directory. */
#ifndef GNOMON_RUNTIME_TRANSPORT_H
#define GNOMON_RUNTIME_TRANSPORT_H

#include "backoff.h"
#include "messages.h"
#include "rank_tree.h"

struct gn_transport {
	/* At the root `message` becomes the total, elsewhere it is emptied. 0, or an errno. */
	int (*reduce)(struct gn_tree *tree, struct gn_message *message,
		      const struct gn_merging *merging);
	/* The root's message becomes everybody's. 0, or an errno; ESTALE if it went without us. */
	int (*share)(struct gn_tree *tree, struct gn_message *message);
	void (*close)(struct gn_tree *tree);
};

struct gn_tree {
	const struct gn_job_terms *terms;
	const struct gn_transport *transport; /* NULL: alone */
	void *state;
	struct gn_job *job; /* NULL: none */
	int64_t came_ns;    /* it has waited for the others since then; 0: not yet */
	int rank, ranks;
	int is_root;
	int round; /* of reduce and share, counted together */
	int is_out;
	char own_why[GN_REASON_SIZE]; /* of this rank's program, to be told */
	struct gn_gaps gaps;
	struct gn_gap told[GN_GAPS_MAX];
};

/* 0, or an errno: the next transport is tried; ENOTSUP: it is not for this process. */
int gn_tree_open_mpi(struct gn_tree *tree);
int gn_tree_open_files(struct gn_tree *tree);

/* Says that what this rank sends cannot be packed; returns `failed`. */
int gn_tree_too_large(const struct gn_tree *tree, int failed);

#endif
