/* Several gmon.out files as one. Source: GNU gprof's manual, option --sum. */
#include "gmon_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SCALE_DIFFERENCE_MOST = 1e-6;

static int __attribute__((format(printf, 2, 3))) refuse(struct gn_gmon_problem *problem,
							const char *what, ...)
{
	va_list arguments;

	va_start(arguments, what);
	vsnprintf(problem->text, sizeof(problem->text), what, arguments);
	va_end(arguments);
	problem->offset = 0;
	return -EBADMSG;
}

/* The size of a bin in units of two bytes. */
static double scale_of(const struct gn_histogram *histogram)
{
	if (!histogram->n_bins)
		return 0;
	return (double)((histogram->high - histogram->low) / 2) / histogram->n_bins;
}

static int copy_histogram(struct gn_gmon *sum, const struct gn_histogram *histogram)
{
	struct gn_histogram *histograms = gn_with_room(sum->histograms, sum->n_histograms,
						       &sum->histogram_room, sizeof(*histograms));
	const size_t size = histogram->n_bins * sizeof(*histogram->bins);
	uint32_t *bins;

	if (!histograms)
		return -ENOMEM;
	sum->histograms = histograms;
	bins = malloc(size ? size : 1);
	if (!bins)
		return -ENOMEM;
	memcpy(bins, histogram->bins, size);
	histograms[sum->n_histograms] = *histogram;
	histograms[sum->n_histograms++].bins = bins;
	return 0;
}

static int add_histogram(struct gn_gmon *sum, const struct gn_histogram *histogram,
			 struct gn_gmon_problem *problem)
{
	const struct gn_histogram *first = sum->n_histograms ? &sum->histograms[0] : histogram;
	struct gn_histogram *same = NULL;
	bool overlaps = false;

	if (strcmp(histogram->unit, first->unit) != 0 ||
	    strcmp(histogram->letter, first->letter) != 0)
		return refuse(problem, "its samples are of %s, not of %s", histogram->unit,
			      first->unit);
	if (fabs(scale_of(histogram) - scale_of(first)) > SCALE_DIFFERENCE_MOST)
		return refuse(problem, "its bins are of another size");
	for (uint32_t i = 0; i < sum->n_histograms && !same; i++) {
		struct gn_histogram *other = &sum->histograms[i];

		if (other->low == histogram->low && other->high == histogram->high)
			same = other;
		overlaps |= histogram->low < other->high && other->low < histogram->high;
	}
	if (!same && overlaps)
		return refuse(problem, "its histogram from 0x%" PRIx64 " overlaps another one",
			      histogram->low);
	if (!same)
		return copy_histogram(sum, histogram);
	if (same->n_bins != histogram->n_bins)
		return refuse(problem, "its histogram has another number of bins");
	for (uint32_t i = 0; i < same->n_bins; i++)
		same->bins[i] += histogram->bins[i];
	return 0;
}

struct pair {
	uint64_t caller, callee;
};

static uint64_t callee_of(const struct gn_counts *counts, uint32_t number)
{
	return counts->callees ? counts->callees[number] : 0;
}

static bool is_pair(const void *table, uint32_t number, const void *sought)
{
	const struct gn_counts *sums = table;
	const struct pair *pair = sought;

	return sums->callers[number] == pair->caller && callee_of(sums, number) == pair->callee;
}

/* The number of a pair, which is a new one where it has none; -ENOMEM. */
static int64_t number_of(struct gn_counts *sums, struct pair pair, bool has_callees)
{
	struct gn_slots *slots = &sums->slots;
	struct gn_slot *slot;
	int64_t number;
	uint32_t hash;

	if (gn_slots_begin(slots) < 0)
		return -ENOMEM;
	hash = gn_slots_hash(slots, gn_mixed(slots, pair.caller, pair.callee));
	slot = gn_slots_place(slots, hash, is_pair, sums, &pair);
	if (slot->number)
		return slot->number - 1;
	if (gn_counts_reserve(sums, 1, has_callees) < 0)
		return -ENOMEM;
	number = gn_slots_put(slots, slot, hash, sums->n);
	if (number < 0)
		return number;
	sums->callers[sums->n] = pair.caller;
	if (has_callees)
		sums->callees[sums->n] = pair.callee;
	sums->counts[sums->n++] = 0;
	return number;
}

static int add_counts(struct gn_counts *sums, const struct gn_counts *other, bool has_callees)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < other->n; i++) {
		const struct pair pair = {other->callers[i], callee_of(other, i)};
		int64_t number = next;

		/* Ranks of a job mostly make the same calls, in the same order. */
		if (next >= sums->n || !is_pair(sums, next, &pair))
			number = number_of(sums, pair, has_callees);
		if (number < 0)
			return (int)number;
		sums->counts[number] =
			(int64_t)((uint64_t)sums->counts[number] + (uint64_t)other->counts[i]);
		next = (uint32_t)number + 1;
	}
	return 0;
}

int gn_gmon_add(struct gn_gmon *sum, const struct gn_gmon *other, struct gn_gmon_problem *problem)
{
	int failed = 0;

	*problem = (struct gn_gmon_problem){0};
	if (!sum->is_sum) {
		sum->layout = other->layout;
		sum->says_rate = true;
		sum->is_sum = true;
	} else if (sum->layout.is_wide != other->layout.is_wide ||
		   sum->layout.is_big != other->layout.is_big) {
		return refuse(problem, "its addresses are of another width or byte order");
	}
	sum->says_rate &= other->says_rate;
	for (uint32_t i = 0; i < other->n_histograms && !failed; i++)
		failed = add_histogram(sum, &other->histograms[i], problem);
	if (!failed)
		failed = add_counts(&sum->arcs, &other->arcs, true);
	if (!failed)
		failed = add_counts(&sum->blocks, &other->blocks, false);
	return failed;
}
