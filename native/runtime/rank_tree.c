/* The tree by its transports, or of one rank. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport.h"

/* What became of the program, which a child is told: "killed by SIGSEGV", "status 3". */
static void find_outcome(struct gn_tree *tree)
{
	const struct gn_job_child *child = tree->terms->child;
	const char *outcome = child ? getenv(child->outcome) : NULL;
	int status;

	if (!outcome)
		return;
	tree->is_out = !strncmp(outcome, "killed by ", 10);
	if (tree->is_out)
		snprintf(tree->own_why, sizeof(tree->own_why), "was %.60s", outcome);
	else if (sscanf(outcome, "status %d", &status) == 1)
		snprintf(tree->own_why, sizeof(tree->own_why), "ended with exit status %d", status);
}

int gn_tree_open(struct gn_tree **tree, const struct gn_job_terms *terms)
{
	struct gn_tree *opened = calloc(1, sizeof(*opened));
	int failed;

	*tree = NULL;
	if (!opened)
		return gn_tree_failed(ENOMEM, "no memory for the tree of tasks; free some memory");
	opened->terms = terms;
	opened->ranks = 1;
	opened->is_root = 1;
	find_outcome(opened);
	failed = gn_tree_open_mpi(opened);
	if (failed)
		failed = gn_tree_open_files(opened);
	if (failed && failed != ENODATA) {
		free(opened);
		return failed;
	}
	*tree = opened;
	return 0;
}

int gn_tree_rank(const struct gn_tree *tree)
{
	return tree->rank;
}

int gn_tree_ranks(const struct gn_tree *tree)
{
	return tree->ranks;
}

int gn_tree_is_root(const struct gn_tree *tree)
{
	return tree->is_root;
}

int gn_tree_reduce(struct gn_tree *tree, struct gn_blob *own, gn_merge *merge, void *context)
{
	const struct gn_merging merging = {merge, context, tree->terms->not_merged};
	struct gn_message message = {.has_blob = !tree->is_out};
	int failed = 0;

	tree->round++;
	if (tree->is_out)
		free(own->data);
	else
		message.blob = *own;
	memset(own, 0, sizeof(*own));
	if (*tree->own_why)
		gn_gaps_add(&message.gaps, tree->rank, tree->rank, !tree->is_out, tree->own_why);
	if (tree->transport)
		failed = tree->transport->reduce(tree, &message, &merging);
	if (!failed && tree->is_root) {
		*own = message.blob;
		memset(&message.blob, 0, sizeof(message.blob));
		gn_gaps_join(&tree->gaps, &message.gaps);
	}
	gn_message_free(&message);
	return failed;
}

int gn_tree_share(struct gn_tree *tree, struct gn_blob *blob)
{
	struct gn_message message = {.has_blob = 1};
	int failed = 0;

	tree->round++;
	if (!tree->transport)
		return 0;
	message.gaps = tree->gaps;
	if (tree->is_root) {
		message.blob = *blob;
	} else {
		free(blob->data);
		memset(blob, 0, sizeof(*blob));
	}
	failed = tree->transport->share(tree, &message);
	if (!tree->is_root && !failed) {
		*blob = message.blob;
		memset(&message.blob, 0, sizeof(message.blob));
		tree->gaps = message.gaps;
	}
	if (!tree->is_root)
		gn_message_free(&message);
	return failed;
}

int gn_tree_missing(const struct gn_tree *tree, const struct gn_gap **gaps)
{
	struct gn_tree *told = (struct gn_tree *)tree;

	*gaps = told->told;
	return gn_gaps_list(&tree->gaps, told->told);
}

const char *gn_tree_own_gap(const struct gn_tree *tree)
{
	return tree->is_out ? tree->own_why : NULL;
}

void gn_tree_exclude_self(struct gn_tree *tree, const char *why)
{
	tree->is_out = 1;
	snprintf(tree->own_why, sizeof(tree->own_why), "%s", why);
}

void gn_tree_close(struct gn_tree *tree)
{
	if (!tree)
		return;
	if (tree->transport)
		tree->transport->close(tree);
	free(tree);
}
