#include "intervals.h"

#include <stdlib.h>

/* How many intervals that end before an address are passed over for one that is around them. */
#define OUTWARDS_MAX 1024

void gn_intervals_add(struct gn_intervals *intervals, uint64_t start, uint64_t end, uint32_t value)
{
	struct gn_interval *interval;

	if (start >= end)
		return;
	interval = gn_vector_push(&intervals->of, sizeof(*interval));
	/* Until they are sorted, end_max is the number in the order of adding. */
	*interval = (struct gn_interval){start, end, intervals->of.n, value};
}

static int compare(const void *a, const void *b)
{
	const struct gn_interval *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->end_max < other->end_max ? -1 : one->end_max > other->end_max;
}

void gn_intervals_sort(struct gn_intervals *intervals)
{
	struct gn_interval *of = intervals->of.data;
	uint64_t end_max = 0;

	if (intervals->of.n)
		qsort(of, intervals->of.n, sizeof(*of), compare);
	for (size_t i = 0; i < intervals->of.n; i++) {
		end_max = of[i].end > end_max ? of[i].end : end_max;
		of[i].end_max = end_max;
	}
}

const struct gn_interval *gn_intervals_find(const struct gn_intervals *intervals, uint64_t address)
{
	const struct gn_interval *of = intervals->of.data;
	size_t low = 0, high = intervals->of.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (of[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t n = 0; low > 0 && n < OUTWARDS_MAX && of[low - 1].end_max > address; n++, low--)
		if (of[low - 1].end > address)
			return &of[low - 1];
	return NULL;
}

void gn_intervals_free(struct gn_intervals *intervals)
{
	gn_vector_free(&intervals->of);
}
