/* The names of gnomon/hpm_tree.h for the tree and the job, with the words of hpmcount and libhpm.
 */
#include <string.h>

#include <gnomon/hpm_tree.h>

#include "rank_tree.h"
#include "reduction.h"

static const struct gn_job_child child;

#define TERMS                                                                                      \
	.prefix = "hpm", .directory = "HPM_AGGREGATE_DIR", .timeout = "HPM_AGGREGATE_TIMEOUT",     \
	.remedy = "aggregate fewer sections", .not_merged = HPM_NOT_MERGED, .child = &child

/* hpmcount's. A living task of its is waited for: the launcher would do so, too. */
static const struct gn_job_terms count = {
	TERMS,
	.purpose = "count",
	.gone = "is gone: its hpmcount was killed",
	.waits_for_living = 1,
};

/* Those of the program itself. */
static const struct gn_job_terms sections = {
	TERMS,
	.purpose = "sections",
	.gone = "ended without hpmTerminate",
};

/* hpm-plugin-host, and libhpm's plug-ins in Python. */
static const struct gn_job_child child = {
	.descriptor = "HPM_JOB_FD",
	.directory = "HPM_JOB_DIR",
	.is_shortened = "HPM_JOB_HURRY",
	.outcome = "HPM_JOB_OUTCOME",
	.parent = "hpmcount",
	.terms = &count,
};

int hpm_job_task(void)
{
	return gn_launcher_rank();
}

int hpm_job_join(const char *purpose, char *where, size_t size)
{
	return gn_job_join(strcmp(purpose, count.purpose) ? &sections : &count, where, size);
}

void hpm_job_end(void)
{
	gn_job_end(&sections);
}

void hpm_job_hurry(void)
{
	gn_job_shorten_deadline();
}

int hpm_tree_open(hpm_tree **tree)
{
	return gn_tree_open(tree, &sections);
}

int hpm_tree_task(const hpm_tree *tree)
{
	return gn_tree_rank(tree);
}

int hpm_tree_tasks(const hpm_tree *tree)
{
	return gn_tree_ranks(tree);
}

int hpm_tree_reduce(hpm_tree *tree, hpm_blob *own, hpm_merge *merge, void *context)
{
	return gn_tree_reduce(tree, own, merge, context);
}

int hpm_tree_is_root(const hpm_tree *tree)
{
	return gn_tree_is_root(tree);
}

int hpm_tree_share(hpm_tree *tree, hpm_blob *blob)
{
	return gn_tree_share(tree, blob);
}

int hpm_tree_missing(const hpm_tree *tree, const hpm_gap **gaps)
{
	return gn_tree_missing(tree, gaps);
}

const char *hpm_tree_own_gap(const hpm_tree *tree)
{
	return gn_tree_own_gap(tree);
}

void hpm_tree_close(hpm_tree *tree)
{
	gn_tree_close(tree);
}

const char *hpm_tree_error(void)
{
	return gn_tree_error();
}
