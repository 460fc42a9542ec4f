/* Reductions in rounds over a tree. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_tree.h"
#include "reduction.h"

struct merging {
	const hpm_reduction *reduction;
	int round;
};

static int merge(hpm_blob *into, const hpm_blob *other, void *context)
{
	const struct merging *merging = context;

	return merging->reduction->merge(merging->round, into, other);
}

/* --- the run ---------------------------------------------------------------------------------- */

struct run {
	const hpm_reduction *reduction;
	hpm_tree *tree;
	hpm_blob shared;
	char own_why[GN_REASON_SIZE]; /* this task prints by itself */
	int n;
	hpm_event_vector in;
};

/* What the root says with `shared`. */
enum { GO_ON, IS_DONE, FAILED };

/* What next() gave, with one byte of the above behind it. */
static int with_mark(hpm_blob *blob, int mark)
{
	unsigned char *larger = realloc(blob->data, blob->size + 1);

	if (!larger)
		return ENOMEM;
	larger[blob->size++] = (unsigned char)mark;
	blob->data = larger;
	return 0;
}

static int marked(hpm_blob *blob)
{
	return blob->size ? ((unsigned char *)blob->data)[--blob->size] : FAILED;
}

/* Returns 0 with the mark, or an errno of the tree. */
static int one_round(struct run *run, int round, int *mark, int *root_failed)
{
	struct merging merging = {run->reduction, round};
	hpm_blob blob = {NULL, 0}, next = {NULL, 0};
	int failed = 0, is_done = 0;

	*root_failed = 0;
	if (!*run->own_why) {
		failed = run->reduction->partial(round, &run->shared, hpm_tree_task(run->tree),
						 run->n, run->in, &blob);
		if (failed) {
			snprintf(run->own_why, sizeof(run->own_why), "could not be aggregated: %s",
				 failed > 0 ? strerror(failed) : "the aggregator's partial failed");
			gn_tree_exclude_self(run->tree, run->own_why);
		}
	}
	failed = hpm_tree_reduce(run->tree, &blob, merge, &merging);
	if (failed)
		return failed;
	if (hpm_tree_is_root(run->tree)) {
		next = run->shared;
		run->shared = (hpm_blob){NULL, 0};
		failed = run->reduction->next(round, &blob, &next, &is_done);
		if (failed) {
			*root_failed = failed;
			free(next.data);
			next = (hpm_blob){NULL, 0};
		}
		free(blob.data);
		if (with_mark(&next, failed ? FAILED : is_done ? IS_DONE : GO_ON)) {
			free(next.data);
			return gn_tree_failed(ENOMEM, "no memory for a round of the aggregator");
		}
	}
	failed = hpm_tree_share(run->tree, &next);
	if (failed) {
		free(next.data);
		return failed;
	}
	*mark = marked(&next);
	free(run->shared.data);
	run->shared = next;
	return 0;
}

static int finish(struct run *run, int *n_out, hpm_event_vector *out, int *is_print_task)
{
	const hpm_gap *gaps;
	int n_gaps, failed;

	failed = run->reduction->finish(&run->shared, hpm_tree_task(run->tree), run->n, run->in,
					n_out, out, is_print_task);
	if (failed)
		return failed;
	n_gaps = hpm_tree_missing(run->tree, &gaps);
	if (*is_print_task && *out && *n_out > 0)
		hpm_gaps_tell(gaps, n_gaps, *n_out, *out);
	return 0;
}

int hpm_reduction_run(const hpm_reduction *reduction, int n, hpm_event_vector in, int *n_out,
		      hpm_event_vector *out, int *is_print_task)
{
	struct run run = {.reduction = reduction, .n = n, .in = in};
	char why[512];
	int failed, mark = GO_ON, root_failed = 0;

	failed = hpm_tree_open(&run.tree);
	if (failed) {
		snprintf(why, sizeof(why), "not aggregated: %s", hpm_tree_error());
		return hpm_own_items(n, in, why, n_out, out, is_print_task);
	}
	if (hpm_tree_own_gap(run.tree))
		snprintf(run.own_why, sizeof(run.own_why), "%s", hpm_tree_own_gap(run.tree));
	for (int round = 0; !failed && mark == GO_ON && round < HPM_ROUNDS_MAX; round++)
		failed = one_round(&run, round, &mark, &root_failed);
	if (failed) {
		snprintf(why, sizeof(why), "not aggregated: %s", hpm_tree_error());
		failed = hpm_own_items(n, in, why, n_out, out, is_print_task);
	} else if (root_failed) {
		failed = root_failed;
	} else if (mark != IS_DONE) {
		failed = hpm_own_items(n, in,
				       "not aggregated: the aggregator failed at the root of the "
				       "tree, which says why",
				       n_out, out, is_print_task);
	} else if (*run.own_why) {
		snprintf(why, sizeof(why), "task %d by itself: it %s", hpm_tree_task(run.tree),
			 run.own_why);
		failed = hpm_own_items(n, in, why, n_out, out, is_print_task);
	} else {
		failed = finish(&run, n_out, out, is_print_task);
	}
	free(run.shared.data);
	hpm_tree_close(run.tree);
	return failed;
}
