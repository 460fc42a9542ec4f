/* What tasks send each other, and what is missing in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int by_first(const void *one, const void *other)
{
	const hpm_gap *a = one, *b = other;

	return (a->first > b->first) - (a->first < b->first);
}

int hpm_gaps_list(const struct hpm_gaps *gaps, hpm_gap list[HPM_GAPS_MAX])
{
	for (int i = 0; i < gaps->n; i++)
		list[i] = (hpm_gap){gaps->gap[i].first, gaps->gap[i].last, gaps->gap[i].is_in,
				    gaps->gap[i].why};
	qsort(list, (size_t)gaps->n, sizeof(*list), by_first);
	return gaps->n;
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
