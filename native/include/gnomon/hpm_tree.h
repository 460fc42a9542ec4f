/*
 * A reduction tree over the tasks of a job, for aggregators (hpm_agg.h): link with -lhpm_plugin.
 *
 * The parent of task t is task (t - 1) / 16. Messages go by MPI in a program whose MPI is up, else
 * through files in a directory of the job, else there is one task only. A task that is missing
 * costs the others nothing but the wait for it (HPM_AGGREGATE_TIMEOUT seconds, 60).
 */
#ifndef GNOMON_HPM_TREE_H
#define GNOMON_HPM_TREE_H

#include <stddef.h>

#include "hpm_data.h"
#include "rank_data.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HPM_TREE_API __attribute__((visibility("default")))
#else
#define HPM_TREE_API
#endif

/* --- the tree --------------------------------------------------------------------------------- */

/* rank_data.h says what they are: a tree, bytes, what puts two of them together, missing tasks. */
typedef struct gn_tree hpm_tree;
typedef struct gn_blob hpm_blob;
typedef gn_merge hpm_merge;
typedef struct gn_gap hpm_gap;

/*
 * What follows is called by all tasks of the job in the same order, by one thread each. What
 * returns an int returns 0 or an errno; hpm_tree_error() then says it in words.
 */
HPM_TREE_API int hpm_tree_open(hpm_tree **tree);
HPM_TREE_API int hpm_tree_task(const hpm_tree *tree);
HPM_TREE_API int hpm_tree_tasks(const hpm_tree *tree);

/*
 * At the root `own` becomes the total of all tasks, merged in an order that does not depend on who
 * comes first; elsewhere it is left empty. Takes own->data, and frees what it does not give back.
 * The task whose program was killed is not in the total.
 */
HPM_TREE_API int hpm_tree_reduce(hpm_tree *tree, hpm_blob *own, hpm_merge *merge, void *context);

/* After a reduction: task 0, or the lowest one that came if that did not. */
HPM_TREE_API int hpm_tree_is_root(const hpm_tree *tree);

/*
 * The root's blob, which it keeps, becomes everybody's; what others had is freed. ESTALE: this
 * task came too late, and the others went on without it.
 */
HPM_TREE_API int hpm_tree_share(hpm_tree *tree, hpm_blob *blob);

/*
 * What is known to be missing: at the root after a reduction, elsewhere after a share. Returns how
 * many there are; they stay until the next call with this tree.
 */
HPM_TREE_API int hpm_tree_missing(const hpm_tree *tree, const hpm_gap **gaps);

/* Why this task's own values are no part of the totals, or NULL: "was killed by SIGSEGV". */
HPM_TREE_API const char *hpm_tree_own_gap(const hpm_tree *tree);

HPM_TREE_API void hpm_tree_close(hpm_tree *tree);

/* Of the calling thread's last failure: what failed, why, and the remedy. */
HPM_TREE_API const char *hpm_tree_error(void);

/* --- reductions in rounds --------------------------------------------------------------------- */

/*
 * Callbacks of a reduction in rounds, for an aggregator. In each round every task makes a partial
 * of its items, and partials are merged. From the total the root makes what all tasks share in the
 * next round, or at the end: next() gets the last round's result in `shared` and replaces it.
 * `shared` is empty in round 0, and `total` where no task has a partial. All return 0 or an errno.
 *
 * A plug-in exports it by the name hpm_reduction_of_plugin beside distributor and aggregator: then
 * it can be replayed over files of ranks (gnomon repair -a).
 */
typedef struct {
	int (*partial)(int round, const hpm_blob *shared, int task, int n, hpm_event_vector items,
		       hpm_blob *out);
	int (*merge)(int round, hpm_blob *into, const hpm_blob *other);
	int (*next)(int round, hpm_blob *total, hpm_blob *shared, int *is_done);
	int (*finish)(const hpm_blob *shared, int task, int n, hpm_event_vector items, int *n_out,
		      hpm_event_vector *out, int *is_print_task);
} hpm_reduction;

/*
 * Runs it over the job's tasks: what aggregator() calls. Tasks that are missing are named in the
 * description of the first item that a task prints. A task whose partial fails, or whose program
 * was killed, is left out and prints what it measured itself; so does everyone where no tree can
 * be made, with the reason in the description.
 */
HPM_TREE_API int hpm_reduction_run(const hpm_reduction *reduction, int n, hpm_event_vector in,
				   int *n_out, hpm_event_vector *out, int *is_print_task);

/* --- the task ----------------------------------------------------------------------------------
 */

/*
 * The number that the launcher gave this process in its job, without MPI: for distributors, which
 * are called before MPI_Init. -1: no launcher started it.
 */
HPM_TREE_API int hpm_job_task(void);

/* --- joining ---------------------------------------------------------------------------------- */

/*
 * Makes this process a task of the job, as long as it lives: what others wait for. purpose:
 * "sections" in a program, "count" in hpmcount. Called once, early; hpm_tree_open() does it
 * otherwise. Returns a descriptor, which shall not be closed, or a negative errno; -ENODATA: there
 * is no launcher, or it started one task only. where: the job's directory, or why there is none.
 *
 * A child that aggregates for its parent gets the descriptor and both in its environment:
 * HPM_JOB_FD=number, HPM_JOB_DIR=where; what became of the program, if it did not end well, by
 * HPM_JOB_OUTCOME="killed by SIGSEGV" or "status 3"; and HPM_JOB_HURRY=1 if hpm_job_hurry() is to
 * be called. While the child waits for others, the time of the descriptor's file goes on.
 */
HPM_TREE_API int hpm_job_join(const char *purpose, char *where, size_t size);

/* Leaves the job, if it was joined and no tree was closed since: the end without an aggregator. */
HPM_TREE_API void hpm_job_end(void);

/* The launcher ends the job: what is not there within 300 ms is missing. For signal handlers. */
HPM_TREE_API void hpm_job_hurry(void);

#ifdef __cplusplus
}
#endif

#endif
