/* The tree by its transports, or of one task. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reduction.h"
#include "tree.h"

/* --- what is missing -------------------------------------------------------------------------- */

static int are_same(const struct hpm_gaps *gaps, int i, int first, int last, int is_in,
		    const char *why)
{
	return gaps->gap[i].is_in == is_in && !strcmp(gaps->gap[i].why, why) &&
	       first <= gaps->gap[i].last + 1 && last >= gaps->gap[i].first - 1;
}

void hpm_gaps_add(struct hpm_gaps *gaps, int first, int last, int is_in, const char *why)
{
	int i = 0;

	/* What this one touches becomes one with it. */
	while (i < gaps->n) {
		if (!are_same(gaps, i, first, last, is_in, why)) {
			i++;
			continue;
		}
		if (gaps->gap[i].first < first)
			first = gaps->gap[i].first;
		if (gaps->gap[i].last > last)
			last = gaps->gap[i].last;
		gaps->gap[i] = gaps->gap[--gaps->n];
		i = 0;
	}
	if (gaps->n == HPM_GAPS_MAX) {
		i = HPM_GAPS_MAX - 1;
		is_in = 0;
		why = "are not all there, for more reasons than there is room for";
		if (gaps->gap[i].first < first)
			first = gaps->gap[i].first;
		if (gaps->gap[i].last > last)
			last = gaps->gap[i].last;
	} else {
		i = gaps->n++;
	}
	gaps->gap[i].first = first;
	gaps->gap[i].last = last;
	gaps->gap[i].is_in = is_in;
	memset(gaps->gap[i].why, 0, HPM_REASON_SIZE);
	snprintf(gaps->gap[i].why, HPM_REASON_SIZE, "%s", why);
}

void hpm_gaps_join(struct hpm_gaps *gaps, const struct hpm_gaps *other)
{
	for (int i = 0; i < other->n; i++)
		hpm_gaps_add(gaps, other->gap[i].first, other->gap[i].last, other->gap[i].is_in,
			     other->gap[i].why);
}

/* --- loads ------------------------------------------------------------------------------------ */

#define LOAD_MAGIC 0x48504d4cu

struct load_head {
	uint32_t magic;
	int32_t n_gaps;
	int32_t has_blob;
	uint32_t size_of_gap;
	uint64_t size;
};

int hpm_load_pack(const struct hpm_load *load, unsigned char **bytes, size_t *size)
{
	const size_t gaps = (size_t)load->gaps.n * sizeof(load->gaps.gap[0]);
	const struct load_head head = {LOAD_MAGIC, load->gaps.n, load->has_blob,
				       sizeof(load->gaps.gap[0]),
				       load->has_blob ? load->blob.size : 0};
	unsigned char *made;

	if (head.size > HPM_BLOB_MAX)
		return EOVERFLOW;
	made = malloc(sizeof(head) + gaps + head.size);
	if (!made)
		return ENOMEM;
	memcpy(made, &head, sizeof(head));
	memcpy(made + sizeof(head), load->gaps.gap, gaps);
	if (head.size)
		memcpy(made + sizeof(head) + gaps, load->blob.data, head.size);
	*bytes = made;
	*size = sizeof(head) + gaps + head.size;
	return 0;
}

int hpm_load_unpack(const unsigned char *bytes, size_t size, struct hpm_load *load)
{
	struct load_head head;
	size_t gaps;

	memset(load, 0, sizeof(*load));
	if (size < sizeof(head))
		return EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != LOAD_MAGIC || head.n_gaps < 0 || head.n_gaps > HPM_GAPS_MAX ||
	    head.size_of_gap != sizeof(load->gaps.gap[0]) || head.size > HPM_BLOB_MAX ||
	    (head.has_blob != 0 && head.has_blob != 1))
		return EBADMSG;
	gaps = (size_t)head.n_gaps * sizeof(load->gaps.gap[0]);
	if (size != sizeof(head) + gaps + head.size)
		return EBADMSG;
	memcpy(load->gaps.gap, bytes + sizeof(head), gaps);
	load->gaps.n = head.n_gaps;
	for (int i = 0; i < head.n_gaps; i++)
		load->gaps.gap[i].why[HPM_REASON_SIZE - 1] = 0;
	if (head.size) {
		load->blob.data = malloc(head.size);
		if (!load->blob.data) {
			memset(load, 0, sizeof(*load));
			return ENOMEM;
		}
		memcpy(load->blob.data, bytes + sizeof(head) + gaps, head.size);
		load->blob.size = head.size;
	}
	load->has_blob = head.has_blob;
	return 0;
}

void hpm_load_free(struct hpm_load *load)
{
	free(load->blob.data);
	memset(load, 0, sizeof(*load));
}

void hpm_load_merge(struct hpm_load *into, struct hpm_load *from, int task,
		    const struct hpm_merging *merging)
{
	int failed;

	hpm_gaps_join(&into->gaps, &from->gaps);
	if (from->has_blob && into->has_blob) {
		failed = merging->merge(&into->blob, &from->blob, merging->context);
		if (failed) {
			char why[HPM_REASON_SIZE];

			snprintf(why, sizeof(why),
				 "could not be merged, with those below it in the tree: %s",
				 failed > 0 ? strerror(failed) : "the aggregator's merge failed");
			hpm_gaps_add(&into->gaps, task, task, 0, why);
		}
	} else if (from->has_blob) {
		into->blob = from->blob;
		into->has_blob = 1;
		memset(&from->blob, 0, sizeof(from->blob));
	}
	hpm_load_free(from);
}

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

static int by_first(const void *one, const void *other)
{
	const hpm_gap *a = one, *b = other;

	return (a->first > b->first) - (a->first < b->first);
}

int hpm_tree_missing(const hpm_tree *tree, const hpm_gap **gaps)
{
	hpm_tree *told = (hpm_tree *)tree;

	for (int i = 0; i < tree->gaps.n; i++)
		told->told[i] = (hpm_gap){tree->gaps.gap[i].first, tree->gaps.gap[i].last,
					  tree->gaps.gap[i].is_in, tree->gaps.gap[i].why};
	qsort(told->told, (size_t)tree->gaps.n, sizeof(told->told[0]), by_first);
	*gaps = tree->told;
	return tree->gaps.n;
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
