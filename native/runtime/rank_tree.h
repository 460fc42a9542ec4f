/*
 * A reduction tree over the ranks of a job. The parent of rank r is (r - 1) / GN_TREE_FANOUT.
 * Messages go by MPI in a program whose MPI is up, else through files in a directory of the job,
 * else there is one rank only. A rank that is missing costs the others nothing but the wait for it.
 *
 * All ranks call these in the same order, by one thread each. What returns an int returns 0 or an
 * errno; gn_tree_error() then says it in words. gnomon/hpm_tree.h has more of each.
 */
#ifndef GNOMON_RUNTIME_RANK_TREE_H
#define GNOMON_RUNTIME_RANK_TREE_H

#include <gnomon/rank_data.h>

#include "job.h"

#define GN_TREE_FANOUT 16

int gn_tree_open(struct gn_tree **tree, const struct gn_job_terms *terms);
int gn_tree_rank(const struct gn_tree *tree);
int gn_tree_ranks(const struct gn_tree *tree);

/* At the root `own` becomes the total of all ranks, in an order that does not depend on who comes
 * first; elsewhere it is left empty. */
int gn_tree_reduce(struct gn_tree *tree, struct gn_blob *own, gn_merge *merge, void *context);

/* After a reduction: rank 0, or the lowest one that came if that did not. */
int gn_tree_is_root(const struct gn_tree *tree);

/* The root's blob becomes everybody's. ESTALE: this rank came too late. */
int gn_tree_share(struct gn_tree *tree, struct gn_blob *blob);

/* What is known to be missing; how many entries there are, until the next call with this tree. */
int gn_tree_missing(const struct gn_tree *tree, const struct gn_gap **gaps);

/* Why this rank's own values are no part of the totals, or NULL. */
const char *gn_tree_own_gap(const struct gn_tree *tree);

/* From now on this rank has no part in totals. */
void gn_tree_exclude_self(struct gn_tree *tree, const char *why);

void gn_tree_close(struct gn_tree *tree);

#endif
