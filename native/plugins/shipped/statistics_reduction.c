/*
 * The reduction: sums of each scenario; where times differ, sums of those that took less, about the
 * same and more; at last histograms between the extremes that are then known.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

/* Source: IBM HPC Toolkit (SG24-7868), 6.11.3. */
#define COMPARABLE_S 2.0

#define BINS_USUAL 10
#define BINS_MOST 1000

/* How far the farthest wall time is from the mean, in seconds. */
static double spread(const struct ranks_item *item)
{
	const struct ranks_number *wall = &item->times[HPM_TIME_WALLCLOCK];
	const double mean = ranks_mean(wall);

	if (item->is_rusage || !(wall->n > 0))
		return 0;
	return fmax(wall->maximum - mean, mean - wall->minimum);
}

/* The section that a group is split by: at either side of its mean there are tasks. */
static int widest(const struct ranks_group *group)
{
	int widest_item = 0;

	for (int i = 1; i < group->n_items; i++)
		if (spread(&group->item[i]) > spread(&group->item[widest_item]))
			widest_item = i;
	return widest_item;
}

static char side(const struct ranks_group *own, const struct ranks_group *group)
{
	const int item_index = widest(group);
	const struct ranks_item *item = ranks_item_of(own, group->item[item_index].key, item_index);
	const double apart =
		item ? ranks_mean(&item->times[HPM_TIME_WALLCLOCK]) -
				ranks_mean(&group->item[item_index].times[HPM_TIME_WALLCLOCK])
		     : 0;

	return apart < -COMPARABLE_S ? '<' : apart > COMPARABLE_S ? '>' : '=';
}

struct ranks_group *ranks_group_for(const struct ranks_total *total, const struct ranks_group *own,
				    char path[RANKS_ROUNDS + 1])
{
	struct ranks_group *group;
	int length = 0;

	path[0] = '\0';
	group = ranks_group_of(total, own->scenario, path);
	while (group && group->state == RANKS_SPLIT && length < RANKS_ROUNDS) {
		path[length++] = side(own, group);
		path[length] = '\0';
		group = ranks_group_of(total, own->scenario, path);
	}
	return group;
}

/* --- histograms ------------------------------------------------------------------------------- */

static int bins_asked(void)
{
	const char *text = getenv("HPM_HISTOGRAM_BINS");
	char *end;
	long bins;

	if (!text || !*text)
		return BINS_USUAL;
	errno = 0;
	bins = strtol(text, &end, 10);
	return errno || *end || bins < 1 || bins > BINS_MOST ? BINS_USUAL : (int)bins;
}

/* Where numpy.histogram puts it, too. */
static int bin_of(const struct ranks_number *range, double value, int n_bins)
{
	const double width = (range->maximum - range->minimum) / n_bins;
	int bin;

	if (!(width > 0) || value >= range->maximum)
		return n_bins - 1;
	bin = (int)((value - range->minimum) / width);
	if (bin > n_bins - 1)
		bin = n_bins - 1;
	if (bin && value < bin * width + range->minimum)
		bin--;
	else if (bin < n_bins - 1 && value >= (bin + 1) * width + range->minimum)
		bin++;
	return bin < 0 ? 0 : bin;
}

static void count_in(const struct ranks_number *own, const struct ranks_number *range,
		     int64_t *bins, int n_bins)
{
	if (own->n > 0 && range->n > 0)
		bins[bin_of(range, own->sum, n_bins)]++;
}

/* The task's own group with a bin for each value, and nothing else. */
static int put_into_bins(struct ranks_arena *arena, struct ranks_group *own,
			 const struct ranks_group *ranges, int n_bins)
{
	for (int i = 0; i < own->n_items; i++) {
		struct ranks_item *item = &own->item[i];
		const struct ranks_item *range = ranks_item_of(ranges, item->key, i);

		if (!range || range->n_events != item->n_events)
			continue;
		item->bins =
			ranks_take(arena, (size_t)HPM_NTIM * (size_t)n_bins, sizeof(*item->bins));
		for (int t = 0; item->bins && t < HPM_NTIM; t++)
			count_in(&item->times[t], &range->times[t], item->bins + t * n_bins,
				 n_bins);
		for (int e = 0; e < item->n_events; e++) {
			struct ranks_event *event = &item->event[e];

			event->bins = ranks_take(arena, (size_t)n_bins, sizeof(*event->bins));
			if (event->bins)
				count_in(&event->value, &range->event[e].value, event->bins,
					 n_bins);
		}
	}
	return arena->is_full ? ENOMEM : 0;
}

/* --- a task ----------------------------------------------------------------------------------- */

static int contribute(struct ranks_arena *arena, int round, const struct ranks_total *total,
		      struct ranks_group *own, struct ranks_total *part)
{
	char path[RANKS_ROUNDS + 1];
	struct ranks_group *group = ranks_group_for(total, own, path);

	if (total->is_binning) {
		if (!group || group->state != RANKS_SETTLED)
			return 0;
		part->is_binning = 1;
		part->n_bins = total->n_bins;
		part->n_groups = 1;
		own->path = ranks_text(arena, "%s", path);
		return own->path ? put_into_bins(arena, own, group, total->n_bins) : ENOMEM;
	}
	/* Only the parts of a group that was split are still to be known. */
	if (round && (group || !path[0]))
		return 0;
	own->path = ranks_text(arena, "%s", path);
	part->n_groups = own->path != NULL;
	return own->path ? 0 : ENOMEM;
}

int ranks_partial(const struct ranks_plan *plan, int round, const hpm_blob *shared, int task, int n,
		  hpm_event_vector items, hpm_blob *out)
{
	struct ranks_arena arena = {0};
	struct ranks_total before, part = {.note = (char *)""};
	struct ranks_group own;
	int is_changed, error;

	(void)plan;
	error = ranks_unpack(&arena, shared, &before);
	if (!error)
		error = ranks_collect(&arena, task, n, items, &own, &is_changed);
	if (!error && is_changed && !round)
		ranks_add_task(&part.changed, task);
	part.group = &own;
	if (!error && !is_changed)
		error = contribute(&arena, round, &before, &own, &part);
	if (!error)
		error = ranks_pack(&part, out);
	ranks_drop(&arena);
	return error;
}

int ranks_merge(int round, hpm_blob *into, const hpm_blob *other)
{
	struct ranks_arena arena = {0};
	struct ranks_total merged_into, another;
	hpm_blob merged = {0};
	int error;

	(void)round;
	error = ranks_unpack(&arena, into, &merged_into);
	if (!error)
		error = ranks_unpack(&arena, other, &another);
	if (!error)
		error = ranks_merge_total(&arena, &merged_into, &another);
	if (!error)
		error = ranks_pack(&merged_into, &merged);
	ranks_drop(&arena);
	if (error)
		return error;
	free(into->data);
	*into = merged;
	return 0;
}

/* --- the root --------------------------------------------------------------------------------- */

/* Of a group that is split only the wall times are asked for. */
static void split(struct ranks_group *group, enum ranks_state state)
{
	group->state = state;
	for (int i = 0; i < group->n_items; i++)
		group->item[i].n_events = 0;
}

/* What becomes of the groups that came in this round. Returns whether any was split. */
static int judge(const struct ranks_plan *plan, int round, struct ranks_total *total)
{
	int is_split = 0;

	for (int i = 0; i < total->n_groups; i++) {
		struct ranks_group *group = &total->group[i];

		if (!plan->is_even || !group->n_items ||
		    spread(&group->item[widest(group)]) <= COMPARABLE_S) {
			group->state = RANKS_SETTLED;
		} else if (round + 1 < RANKS_ROUNDS) {
			split(group, RANKS_SPLIT);
			is_split = 1;
		} else {
			ranks_add_tasks(&total->uneven, &group->tasks);
			split(group, RANKS_UNEVEN);
		}
	}
	return is_split;
}

static void take_bins(const struct ranks_total *total, struct ranks_total *next)
{
	for (int g = 0; g < total->n_groups; g++) {
		const struct ranks_group *from = &total->group[g];
		struct ranks_group *group = ranks_group_of(next, from->scenario, from->path);

		for (int i = 0; group && i < from->n_items; i++) {
			struct ranks_item *item = ranks_item_of(group, from->item[i].key, i);

			if (!item || item->n_events != from->item[i].n_events)
				continue;
			item->bins = from->item[i].bins;
			for (int e = 0; e < item->n_events; e++)
				item->event[e].bins = from->item[i].event[e].bins;
		}
	}
}

static int advance(const struct ranks_plan *plan, int round, struct ranks_arena *arena,
		   struct ranks_total *total, struct ranks_total *result, int *is_done)
{
	int is_split, error;

	*is_done = 1;
	if (result->is_binning) {
		take_bins(total, result);
		return 0;
	}
	is_split = judge(plan, round, total);
	error = ranks_merge_total(arena, result, total);
	if (error)
		return error;
	if (is_split) {
		*is_done = 0;
	} else if (plan->has_bins && result->n_groups) {
		result->is_binning = 1;
		result->n_bins = bins_asked();
		*is_done = 0;
	}
	return 0;
}

int ranks_next(const struct ranks_plan *plan, int round, hpm_blob *total, hpm_blob *shared,
	       int *is_done)
{
	struct ranks_arena arena = {0};
	struct ranks_total came, before;
	hpm_blob after = {0};
	int error;

	error = ranks_unpack(&arena, total, &came);
	if (!error)
		error = ranks_unpack(&arena, shared, &before);
	if (!error)
		error = advance(plan, round, &arena, &came, &before, is_done);
	if (!error && *is_done && plan->complete)
		error = plan->complete(&arena, &before);
	if (!error)
		error = ranks_pack(&before, &after);
	ranks_drop(&arena);
	if (error)
		return error;
	free(shared->data);
	*shared = after;
	return 0;
}
