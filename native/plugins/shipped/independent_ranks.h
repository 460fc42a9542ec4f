/* What plug-ins share whose tasks have nothing to do with each other. They need no library. */
#ifndef GNOMON_INDEPENDENT_RANKS_H
#define GNOMON_INDEPENDENT_RANKS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hpm_agg.h"
#include "hpm_tree.h"

/* What goes out, for as long as the program. */
static hpm_event_vector copied_items __attribute__((used));

/* The same items once more; what they point to is theirs. 0 or an errno. */
static inline int copy_items(int n, const hpm_data_item *items, int *n_out, hpm_event_vector *out)
{
	copied_items = calloc((size_t)n + 1, sizeof(*copied_items));
	if (!copied_items)
		return ENOMEM;
	if (n)
		memcpy(copied_items, items, (size_t)n * sizeof(*copied_items));
	*n_out = n;
	*out = copied_items;
	return 0;
}

/* keep(task, n, items, &n_out, &out, &is_print_task); also as a reduction, for gnomon repair -a. */
#define APART_PLUGIN(keep, task_of_this_process)                                                   \
	static int partial(int round, const hpm_blob *shared, int task, int n,                     \
			   hpm_event_vector items, hpm_blob *out)                                  \
	{                                                                                          \
		(void)round, (void)shared, (void)task, (void)n, (void)items, (void)out;            \
		return 0;                                                                          \
	}                                                                                          \
	static int merge(int round, hpm_blob *into, const hpm_blob *other)                         \
	{                                                                                          \
		(void)round, (void)into, (void)other;                                              \
		return 0;                                                                          \
	}                                                                                          \
	static int next(int round, hpm_blob *total, hpm_blob *shared, int *is_done)                \
	{                                                                                          \
		(void)round, (void)total, (void)shared;                                            \
		*is_done = 1;                                                                      \
		return 0;                                                                          \
	}                                                                                          \
	static int finish(const hpm_blob *shared, int task, int n, hpm_event_vector items,         \
			  int *n_out, hpm_event_vector *out, int *is_print_task)                   \
	{                                                                                          \
		(void)shared;                                                                      \
		return keep(task, n, items, n_out, out, is_print_task);                            \
	}                                                                                          \
	HPM_PLUGIN extern const hpm_reduction hpm_reduction_of_plugin;                             \
	const hpm_reduction hpm_reduction_of_plugin = {partial, merge, next, finish};              \
	int distributor(void)                                                                      \
	{                                                                                          \
		return 0;                                                                          \
	}                                                                                          \
	int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,       \
		       int *is_print_task)                                                         \
	{                                                                                          \
		return keep(task_of_this_process, num_in, in, num_out, out, is_print_task);        \
	}

#endif
