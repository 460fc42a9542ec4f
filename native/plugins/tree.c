/* The tree by its transports, or of one task. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reduction.h"
#include "tree.h"

/* --- waiting ---------------------------------------------------------------------------------- */

#define PAUSE_LEAST 500000  /* ns */
#define PAUSE_MOST 20000000 /* ns */
#define PAUSE_SHARE 16	    /* of what has been waited already */

void hpm_pause(int64_t since_ns)
{
	int64_t ns = (hpm_now_ns() - since_ns) / PAUSE_SHARE;
	struct timespec pause;

	if (ns < PAUSE_LEAST)
		ns = PAUSE_LEAST;
	if (ns > PAUSE_MOST)
		ns = PAUSE_MOST;
	pause = (struct timespec){0, ns};
	nanosleep(&pause, NULL);
}

/* --- the tree --------------------------------------------------------------------------------- */

/* What became of the program, which hpm-plugin-host is told: "killed by SIGSEGV", "status 3". */
static void find_outcome(hpm_tree *tree)
{
	const char *outcome = getenv("HPM_JOB_OUTCOME");
	int status;

	if (!outcome)
		return;
	tree->is_out = !strncmp(outcome, "killed by ", 10);
	if (tree->is_out)
		snprintf(tree->own_why, sizeof(tree->own_why), "was %.60s", outcome);
	else if (sscanf(outcome, "status %d", &status) == 1)
		snprintf(tree->own_why, sizeof(tree->own_why), "ended with exit status %d", status);
}

int hpm_tree_open(hpm_tree **tree)
{
	hpm_tree *made = calloc(1, sizeof(*made));
	int failed;

	*tree = NULL;
	if (!made)
		return hpm_tree_failed(ENOMEM, "no memory for the tree of tasks; free some");
	made->tasks = 1;
	made->is_root = 1;
	find_outcome(made);
	failed = hpm_tree_open_mpi(made);
	if (failed)
		failed = hpm_tree_open_files(made);
	if (failed && failed != ENODATA) {
		free(made);
		return failed;
	}
	*tree = made;
	return 0;
}

int hpm_tree_task(const hpm_tree *tree)
{
	return tree->task;
}

int hpm_tree_tasks(const hpm_tree *tree)
{
	return tree->tasks;
}

int hpm_tree_is_root(const hpm_tree *tree)
{
	return tree->is_root;
}

int hpm_tree_reduce(hpm_tree *tree, hpm_blob *own, hpm_merge *merge, void *context)
{
	const struct hpm_merging merging = {merge, context};
	struct hpm_load load = {.has_blob = !tree->is_out};
	int failed = 0;

	tree->round++;
	if (tree->is_out)
		free(own->data);
	else
		load.blob = *own;
	memset(own, 0, sizeof(*own));
	if (*tree->own_why)
		hpm_gaps_add(&load.gaps, tree->task, tree->task, !tree->is_out, tree->own_why);
	if (tree->transport)
		failed = tree->transport->reduce(tree, &load, &merging);
	if (!failed && tree->is_root) {
		*own = load.blob;
		memset(&load.blob, 0, sizeof(load.blob));
		hpm_gaps_join(&tree->gaps, &load.gaps);
	}
	hpm_load_free(&load);
	return failed;
}

int hpm_tree_share(hpm_tree *tree, hpm_blob *blob)
{
	struct hpm_load load = {.has_blob = 1};
	int failed = 0;

	tree->round++;
	if (!tree->transport)
		return 0;
	load.gaps = tree->gaps;
	if (tree->is_root) {
		load.blob = *blob;
	} else {
		free(blob->data);
		memset(blob, 0, sizeof(*blob));
	}
	failed = tree->transport->share(tree, &load);
	if (!tree->is_root && !failed) {
		*blob = load.blob;
		memset(&load.blob, 0, sizeof(load.blob));
		tree->gaps = load.gaps;
	}
	if (!tree->is_root)
		hpm_load_free(&load);
	return failed;
}

int hpm_tree_missing(const hpm_tree *tree, const hpm_gap **gaps)
{
	hpm_tree *told = (hpm_tree *)tree;

	*gaps = told->told;
	return hpm_gaps_list(&tree->gaps, told->told);
}

const char *hpm_tree_own_gap(const hpm_tree *tree)
{
	return tree->is_out ? tree->own_why : NULL;
}

void hpm_tree_leave_out(hpm_tree *tree, const char *why)
{
	tree->is_out = 1;
	snprintf(tree->own_why, sizeof(tree->own_why), "%s", why);
}

void hpm_tree_close(hpm_tree *tree)
{
	if (!tree)
		return;
	if (tree->transport)
		tree->transport->close(tree);
	free(tree);
}
