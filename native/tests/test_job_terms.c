/* A library with names and words of its own has its own jobs, and its users its own variables. */
#include "job.h"

/* This folder has a job.h, too. */
#include "../runtime/rank_tree.h"

static const struct gn_job_terms terms = {
	.prefix = "calls",
	.purpose = "main",
	.directory = "CALLS_DIR",
	.timeout = "CALLS_TIMEOUT",
	.gone = "ended without a word",
	.remedy = "record less",
	.not_merged = "merge_calls failed",
};

static int is_merged = 1;

static int merge_or_not(struct gn_blob *into, const struct gn_blob *other, void *context)
{
	return is_merged ? merge_sums(into, other, context) : -1;
}

static void reduce(int rank)
{
	const struct gn_gap *gaps;
	struct gn_tree *tree;
	struct gn_blob blob;

	found[rank].opened = gn_tree_open(&tree, &terms);
	if (found[rank].opened) {
		snprintf(found[rank].error, sizeof(found[rank].error), "%s", gn_tree_error());
		return;
	}
	CHECK_EQ(gn_tree_rank(tree), rank);
	blob = own_sum(rank);
	CHECK_EQ(gn_tree_reduce(tree, &blob, merge_or_not, NULL), 0);
	CHECK_EQ(gn_tree_share(tree, &blob), 0);
	found[rank].n = ((struct sum *)blob.data)->n;
	found[rank].n_gaps = gn_tree_missing(tree, &gaps);
	if (found[rank].n_gaps)
		snprintf(found[rank].gaps, sizeof(found[rank].gaps), "%d %s", gaps[0].first,
			 gaps[0].why);
	free(blob.data);
	gn_tree_close(tree);
}

/* Both at once, through directories of different names. */
static void of_both(int rank)
{
	come_together(6);
	if (rank < 3) {
		reduce(rank);
	} else {
		set_task(rank - 3);
		whole_task(rank - 3 + 10, 1);
	}
}

static void test_two_libraries(void)
{
	make_job(3, 3);
	for (int rank = 0; rank < 6; rank++)
		start_task(rank, of_both);
	end_tasks(6);
	for (int rank = 0; rank < 3; rank++) {
		CHECK_EQ(found[rank].n, 3);
		CHECK_EQ(found[rank].n_gaps, 0);
		CHECK_EQ(found[10 + rank].n, 3);
		CHECK_EQ(found[10 + rank].n_gaps, 0);
	}
	check_clean();
}

static void dies(int rank)
{
	char where[PATH_MAX];

	if (rank == 1) {
		CHECK(gn_job_join(&terms, where, sizeof(where)) >= 0);
		CHECK(strstr(where, "/calls-") != NULL);
		_exit(0);
	}
	reduce(rank);
}

static void test_words(void)
{
	make_job(2, 2);
	setenv("CALLS_TIMEOUT", "20", 1);
	for (int rank = 0; rank < 2; rank++)
		start_task(rank, dies);
	end_tasks(2);
	CHECK_EQ(found[0].n, 1);
	CHECK(!strcmp(found[0].gaps, "1 ended without a word"));
	remove_job();
}

static void test_a_merge_that_fails(void)
{
	make_job(2, 2);
	is_merged = 0;
	for (int rank = 0; rank < 2; rank++)
		start_task(rank, reduce);
	end_tasks(2);
	CHECK(strstr(found[0].gaps, "merge_calls failed") != NULL);
	check_clean();
}

static void test_variables(void)
{
	make_job(2, 2);
	setenv("HPM_AGGREGATE_DIR", "/nowhere/at/all", 1);
	set_task(0);
	setenv("CALLS_DIR", "/nowhere/else", 1);
	reduce(0);
	CHECK(found[0].opened != 0);
	CHECK(strstr(found[0].error, "/nowhere/else/calls-") != NULL);
	CHECK(strstr(found[0].error, "; set CALLS_DIR to a directory") != NULL);
	check_clean();
}

int main(void)
{
	RUN(test_two_libraries);
	RUN(test_words);
	RUN(test_a_merge_that_fails);
	RUN(test_variables);
	return check_result;
}
