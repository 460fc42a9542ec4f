/*
 * An aggregator of one's own: what do the slowest tasks do that the fastest do not?
 *
 * Tasks are sorted into quarters by the wall time of their first section, and one report has every
 * section twice: the mean of the fastest quarter and that of the slowest. The quarters are found by
 * a histogram, so that no task ever holds a number for each other task.
 *
 * Every task is to measure the same sections and events; one that does not is left out, named, and
 * writes its own report.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpm_agg.h"
#include "hpm_tree.h"

#define BINS 1024

/* Partials and what is known are arrays of numbers. */
enum { EXTREMES, HISTOGRAM, SUMS };

enum { FASTEST, SLOWEST, QUARTERS };

/*
 * What is known begins with the shortest and the longest time; then, after the histogram, come the
 * last bin of the fastest quarter and the first one of the slowest, the lowest task, how many tasks
 * each quarter has, and their sums.
 */
enum { SHORTEST, LONGEST, LAST_BIN, FIRST_BIN, LOWEST, TASKS, N_KNOWN = TASKS + QUARTERS };

static int make(hpm_blob *blob, size_t n)
{
	blob->data = calloc(n, sizeof(double));
	blob->size = blob->data ? n * sizeof(double) : 0;
	return blob->data ? 0 : ENOMEM;
}

static double *numbers(const hpm_blob *blob)
{
	return blob->data;
}

/* The wall time that tasks are sorted by. */
static double time_of(int n, hpm_event_vector items)
{
	for (int i = 0; i < n; i++)
		if (!items[i].is_rusage)
			return items[i].times[HPM_TIME_WALLCLOCK];
	return 0;
}

/* Each value is two numbers: the sum and of how many tasks. */
static void add(double **at, double value)
{
	if (isfinite(value)) {
		(*at)[0] = value;
		(*at)[1] = 1;
	}
	*at += 2;
}

static size_t count_values(int n, hpm_event_vector items)
{
	size_t count = 0;

	for (int i = 0; i < n; i++)
		count += HPM_NTIM + 1 + (size_t)items[i].num_data;
	return count;
}

static void add_items(double *at, int n, hpm_event_vector items)
{
	for (int i = 0; i < n; i++) {
		for (int t = 0; t < HPM_NTIM; t++)
			add(&at, items[i].times[t]);
		add(&at, items[i].count);
		for (int e = 0; e < items[i].num_data; e++)
			add(&at,
			    items[i].data[e].how == HPM_UNAVAILABLE ? NAN : items[i].data[e].value);
	}
}

static int bin_of(const double *known, double time)
{
	const double width = (known[LONGEST] - known[SHORTEST]) / BINS;
	const int bin = width > 0 ? (int)((time - known[SHORTEST]) / width) : 0;

	return bin < BINS ? bin : BINS - 1;
}

static int partial(int round, const hpm_blob *known, int task, int n, hpm_event_vector items,
		   hpm_blob *out)
{
	const size_t n_values = 2 * count_values(n, items);
	const double time = time_of(n, items);
	const double *at = numbers(known);
	double *made;

	/* Its size tells in each round what the task measured: merge() goes by it. */
	if (make(out, round == EXTREMES	   ? 2 + n_values
		      : round == HISTOGRAM ? BINS + n_values
					   : N_KNOWN + QUARTERS * n_values))
		return ENOMEM;
	made = numbers(out);
	if (round == EXTREMES) {
		made[SHORTEST] = made[LONGEST] = time;
	} else if (round == HISTOGRAM) {
		made[bin_of(at, time)] = 1;
	} else {
		made[LOWEST] = task;
		if (bin_of(at, time) <= at[LAST_BIN]) {
			made[TASKS + FASTEST] = 1;
			add_items(made + N_KNOWN, n, items);
		}
		if (bin_of(at, time) >= at[FIRST_BIN]) {
			made[TASKS + SLOWEST] = 1;
			add_items(made + N_KNOWN + n_values, n, items);
		}
	}
	return 0;
}

static int merge(int round, hpm_blob *into, const hpm_blob *other)
{
	double *mine = numbers(into);
	const double *its = numbers(other);

	/* It measured something else: it is left out. */
	if (into->size != other->size)
		return EINVAL;
	if (round == EXTREMES) {
		mine[SHORTEST] = fmin(mine[SHORTEST], its[SHORTEST]);
		mine[LONGEST] = fmax(mine[LONGEST], its[LONGEST]);
		return 0;
	}
	for (size_t i = round == SUMS ? TASKS : 0; i < into->size / sizeof(double); i++)
		mine[i] += its[i];
	if (round == SUMS)
		mine[LOWEST] = fmin(mine[LOWEST], its[LOWEST]);
	return 0;
}

/* The bins up to which, and from which, a quarter of the tasks are: at least one. */
static int find_quarters(const double *extremes, const double *bins, hpm_blob *known)
{
	double all = 0, below = 0, above = 0, quarter;
	int last = 0, first = BINS - 1;

	for (int i = 0; i < BINS; i++)
		all += bins[i];
	quarter = fmax(floor(all / 4), 1);
	while (last < BINS - 1 && (below += bins[last]) < quarter)
		last++;
	while (first > 0 && (above += bins[first]) < quarter)
		first--;
	if (make(known, N_KNOWN))
		return ENOMEM;
	numbers(known)[SHORTEST] = extremes[SHORTEST];
	numbers(known)[LONGEST] = extremes[LONGEST];
	numbers(known)[LAST_BIN] = last;
	numbers(known)[FIRST_BIN] = first;
	return 0;
}

static int next(int round, hpm_blob *total, hpm_blob *known, int *is_done)
{
	const hpm_blob before = *known;
	int error = 0;

	if (!total->size)
		return ENODATA;
	if (round == HISTOGRAM) {
		error = find_quarters(numbers(&before), numbers(total), known);
	} else {
		*known = *total;
		*total = (hpm_blob){NULL, 0};
	}
	*is_done = round == SUMS;
	if (!error)
		free(before.data);
	return error;
}

/* --- the report ------------------------------------------------------------------------------- */

static double mean(const double **at)
{
	const double value = (*at)[1] > 0 ? (*at)[0] / (*at)[1] : NAN;

	*at += 2;
	return value;
}

static int put_item(const double **at, const char *words, int n_tasks, const hpm_data_item *from,
		    hpm_data_item *to)
{
	*to = *from;
	to->data = calloc((size_t)from->num_data + 1, sizeof(*to->data));
	to->description = strdup(words);
	if (!to->data || !to->description)
		return ENOMEM;
	to->xml_descr = to->description;
	to->n_tasks = n_tasks;
	for (int t = 0; t < HPM_NTIM; t++)
		to->times[t] = mean(at);
	to->count = (int)mean(at);
	for (int e = 0; e < from->num_data; e++) {
		hpm_event_info *event = &to->data[e];

		*event = from->data[e];
		event->value = mean(at);
		if (isfinite(event->value) && event->how == HPM_UNAVAILABLE)
			event->how = HPM_COUNTED;
		else if (!isfinite(event->value))
			event->how = HPM_UNAVAILABLE;
	}
	return 0;
}

static int finish(const hpm_blob *known, int task, int n, hpm_event_vector items, int *n_out,
		  hpm_event_vector *out, int *is_print_task)
{
	static const char *const names[QUARTERS] = {"fastest", "slowest"};
	const double *at = numbers(known);
	const double *values = at + N_KNOWN;
	hpm_event_vector made;
	char words[128];

	*is_print_task = task == (int)at[LOWEST];
	*n_out = 0;
	*out = NULL;
	if (!*is_print_task)
		return 0;
	if (known->size != (N_KNOWN + QUARTERS * 2 * count_values(n, items)) * sizeof(double))
		return EINVAL;
	made = calloc(QUARTERS * (size_t)n, sizeof(*made));
	if (!made)
		return ENOMEM;
	for (int quarter = 0; quarter < QUARTERS; quarter++) {
		const int tasks = (int)at[TASKS + quarter];

		snprintf(words, sizeof(words), "the %s quarter: mean of %d task%s", names[quarter],
			 tasks, tasks == 1 ? "" : "s");
		for (int i = 0; i < n; i++)
			if (put_item(&values, words, tasks, &items[i], &made[quarter * n + i]))
				return ENOMEM;
	}
	*n_out = QUARTERS * n;
	*out = made;
	return 0;
}

/* The name by which `gnomon repair -a` finds it. */
HPM_PLUGIN extern const hpm_reduction hpm_reduction_of_plugin;
const hpm_reduction hpm_reduction_of_plugin = {partial, merge, next, finish};

int distributor(void)
{
	return 0;
}

int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
	       int *is_print_task)
{
	return hpm_reduction_run(&hpm_reduction_of_plugin, num_in, in, num_out, out, is_print_task);
}
