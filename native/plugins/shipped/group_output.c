/* From what everyone knows to the items that the lowest task of each group prints. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

/* In a heading; hpm_data_item.tasks has more. */
#define RANGES_SHOWN 16

/* What a plug-in gives belongs to the program until its end; the items are from malloc(3). */
static struct ranks_arena given;
static hpm_data_item *given_items __attribute__((used));

static hpm_data_item *new_items(size_t n)
{
	given_items = calloc(n + 1, sizeof(*given_items));
	if (!given_items)
		given.is_full = 1;
	return given_items;
}

/* --- values ----------------------------------------------------------------------------------- */

static double value_of(const struct ranks_plan *plan, const struct ranks_number *number)
{
	if (!(number->n > 0))
		return NAN;
	return plan->value == RANKS_MINIMUM   ? number->minimum
	       : plan->value == RANKS_MAXIMUM ? number->maximum
					      : ranks_mean(number);
}

/* Within what an int holds; 0 for what is no number. */
static int whole(double value)
{
	return isnan(value) ? 0 : (int)lround(fmax(fmin(value, 2147483647), -2147483647));
}

static void put_spread(const struct ranks_plan *plan, const struct ranks_number *number,
		       const int64_t *bins, int n_bins, hpm_spread *spread)
{
	long long *counts = NULL;

	*spread = (hpm_spread){whole(number->n), NAN, NAN, NAN, -1, -1, 0, NULL};
	if (!(number->n > 0))
		return;
	spread->minimum = number->minimum;
	spread->maximum = number->maximum;
	spread->min_task = number->min_task;
	spread->max_task = number->max_task;
	if (plan->has_deviation && number->n > 1)
		spread->deviation = sqrt(number->squares / (number->n - 1));
	if (bins)
		counts = ranks_take(&given, (size_t)n_bins, sizeof(*counts));
	for (int i = 0; counts && i < n_bins; i++)
		counts[i] = bins[i];
	spread->n_bins = counts ? n_bins : 0;
	spread->bins = counts;
}

static char *kept(const char *text)
{
	return ranks_text(&given, "%s", text);
}

static void put_event(const struct ranks_plan *plan, const struct ranks_event *event, int n_bins,
		      hpm_event_info *info)
{
	const struct ranks_number *number = &event->value;

	info->name = kept(event->name);
	info->component = kept(event->component);
	info->unit = kept(event->unit);
	info->description = kept(event->description);
	info->reason = kept(number->n > 0 ? "" : event->reason);
	info->value = value_of(plan, number);
	info->enabled_s = number->n > 0 ? event->enabled_s / number->n : 0;
	info->running_s = number->n > 0 ? event->running_s / number->n : 0;
	info->how = number->n > 0 ? event->how : HPM_UNAVAILABLE;
	info->modes = event->modes;
	info->flags = event->flags;
	info->spread = ranks_take(&given, 1, sizeof(*info->spread));
	if (info->spread)
		put_spread(plan, number, event->bins, n_bins, info->spread);
}

/* --- headings --------------------------------------------------------------------------------- */

/* What tells a group from others of its scenario: it was split off by its wall time. */
static const char *kind_of(const struct ranks_group *group)
{
	const size_t splits = strlen(group->path);

	switch (splits ? group->path[splits - 1] : 0) {
	case '<':
		return " that took less time";
	case '=':
		return " that took about the mean time";
	case '>':
		return " that took more time";
	}
	return "";
}

static char *heading(const struct ranks_plan *plan, const struct ranks_group *group,
		     const struct ranks_item *item)
{
	const long long all = (long long)ranks_count(&group->tasks);
	const long long n = (long long)ranks_count(&item->tasks);
	const struct ranks_number *wall = &item->times[HPM_TIME_WALLCLOCK];
	const char *list = ranks_list(&given, &item->tasks, RANGES_SHOWN);
	char *text;

	if (n < all)
		text = ranks_text(&given, "%s over %lld of %lld tasks%s: %s", plan->word, n, all,
				  kind_of(group), list ? list : "");
	else
		text = ranks_text(&given, "%s over %lld task%s%s: %s", plan->word, n,
				  n == 1 ? "" : "s", kind_of(group), list ? list : "");
	if (text && group->runs)
		text = ranks_text(&given,
				  "%s\nand over %lld run%s: extremes and deviation are "
				  "those of the runs",
				  text, (long long)group->runs, group->runs == 1 ? "" : "s");
	if (text && plan->has_imbalance && wall->n > 0 && ranks_mean(wall) > 0)
		text = ranks_text(&given, "%s\nimbalance of the wall time, maximum / mean: %.4g",
				  text, wall->maximum / ranks_mean(wall));
	return text;
}

/* Adds a line, to be told apart from others in a text and in one line of XML. */
static void tell(hpm_data_item *item, const char *line)
{
	char *text, *xml;

	if (!line)
		return;
	text = item->description && item->description[0]
		       ? ranks_text(&given, "%s\n%s", item->description, line)
		       : ranks_text(&given, "%s", line);
	xml = item->xml_descr && item->xml_descr[0]
		      ? ranks_text(&given, "%s; %s", item->xml_descr, line)
		      : ranks_text(&given, "%s", line);
	if (text && xml) {
		item->description = text;
		item->xml_descr = xml;
	}
}

static void describe(hpm_data_item *item, char *text)
{
	char *xml = text ? kept(text) : NULL;

	for (char *at = xml; at && *at; at++)
		if (*at == '\n')
			*at = ';';
	item->description = text;
	item->xml_descr = xml;
}

/* --- tasks that are in no group --------------------------------------------------------------- */

static const char *why_changed(int is_one)
{
	return is_one ? "its group of events was changed while it ran"
		      : "their groups of events were changed while they ran";
}

static const char *why_uneven(int is_one)
{
	return is_one ? "its wall times differ too much from the others'"
		      : "their wall times differ too much";
}

static const char *why_crowded(int is_one)
{
	return is_one ? "there are too many tasks that counted other things"
		      : "there are too many different scenarios";
}

static void tell_of(hpm_data_item *item, const struct ranks_tasks *tasks, const char *why)
{
	const char *list = ranks_list(&given, tasks, RANGES_SHOWN);
	const int64_t n = ranks_count(tasks);

	if (!n || !list)
		return;
	tell(item, ranks_text(&given, "task%s %s by %s: %s%s", n == 1 ? "" : "s", list,
			      n == 1 ? "itself" : "themselves", why,
			      n > RANKS_APART ? "; only the first of them print what they measured"
					      : ""));
}

/* The first of those that print has to say who does not. */
static int is_first(const struct ranks_total *total, const struct ranks_tasks *apart, int task)
{
	int first = -1;

	for (int i = 0; i < total->n_groups; i++) {
		const int lowest = ranks_lowest(&total->group[i].tasks);

		if (total->group[i].state == RANKS_SETTLED && (first < 0 || lowest < first))
			first = lowest;
	}
	return task == (first < 0 ? ranks_lowest(apart) : first);
}

static void tell_rest(const struct ranks_total *total, hpm_data_item *item)
{
	if (total->note[0])
		tell(item, kept(total->note));
	tell_of(item, &total->changed, why_changed(ranks_count(&total->changed) == 1));
	tell_of(item, &total->uneven, why_uneven(ranks_count(&total->uneven) == 1));
	tell_of(item, &total->crowded, why_crowded(ranks_count(&total->crowded) == 1));
}

/* --- items ------------------------------------------------------------------------------------ */

/* Resource usage first, then as the sections are numbered. */
static int by_place(const void *one, const void *other)
{
	const struct ranks_item *const *a = one, *const *b = other;
	const int difference[] = {
		(*b)->is_rusage - (*a)->is_rusage,
		((*a)->instr_id > (*b)->instr_id) - ((*a)->instr_id < (*b)->instr_id),
		strcmp((*a)->label, (*b)->label), (*a)->is_exclusive - (*b)->is_exclusive,
		(*a)->place - (*b)->place};

	for (size_t i = 0; i < sizeof(difference) / sizeof(*difference); i++)
		if (difference[i])
			return difference[i];
	return (*a > *b) - (*a < *b);
}

static void put_item(const struct ranks_plan *plan, const struct ranks_total *total,
		     const struct ranks_group *group, const struct ranks_item *item,
		     hpm_data_item *out)
{
	const int64_t n_tasks = ranks_count(&item->tasks);

	out->num_data = item->n_events;
	out->data = ranks_take(&given, (size_t)item->n_events, sizeof(*out->data));
	out->times_spread = ranks_take(&given, HPM_NTIM, sizeof(*out->times_spread));
	if (!out->data || !out->times_spread)
		return;
	for (int i = 0; i < item->n_events; i++)
		put_event(plan, &item->event[i], total->n_bins, &out->data[i]);
	for (int t = 0; t < HPM_NTIM; t++) {
		out->times[t] = value_of(plan, &item->times[t]);
		put_spread(plan, &item->times[t],
			   item->bins ? item->bins + t * total->n_bins : NULL, total->n_bins,
			   &out->times_spread[t]);
	}
	out->is_mplex_cont = item->is_mplex_cont;
	out->is_rusage = item->is_rusage;
	out->mpi_task_id = ranks_lowest(&group->tasks);
	out->instr_id = item->instr_id;
	out->count = whole(value_of(plan, &item->count));
	out->is_exclusive = item->is_exclusive;
	out->xml_element_id = item->instr_id;
	out->label = kept(item->label);
	out->group = kept(item->group);
	out->file = kept(item->file);
	out->parent_label = kept(item->parent_label);
	out->line = item->line;
	out->parent_id = item->parent_id;
	out->n_tasks = whole((double)n_tasks);
	out->tasks = ranks_list(&given, &item->tasks, RANKS_RANGES);
	describe(out, heading(plan, group, item));
}

static int print_group(const struct ranks_plan *plan, const struct ranks_total *total,
		       const struct ranks_group *group, int is_task, int *n_out,
		       hpm_event_vector *out)
{
	const size_t n = (size_t)group->n_items;
	const struct ranks_item **sorted = ranks_take(&given, n, sizeof(*sorted));
	hpm_data_item *items = new_items(n);

	if (!sorted || !items)
		return ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &group->item[i];
	qsort(sorted, n, sizeof(*sorted), by_place);
	for (size_t i = 0; i < n; i++)
		put_item(plan, total, group, sorted[i], &items[i]);
	/* A program without tasks has no task 0. */
	for (size_t i = 0; !is_task && i < n; i++)
		items[i].mpi_task_id = -1;
	if (given.is_full)
		return ENOMEM;
	*n_out = group->n_items;
	*out = items;
	return 0;
}

/* A task's own items, with the reason. */
static int print_own(int n, const hpm_data_item *in, const char *why, int *n_out,
		     hpm_event_vector *out)
{
	hpm_data_item *items = new_items((size_t)n);

	if (!items)
		return ENOMEM;
	if (n)
		memcpy(items, in, (size_t)n * sizeof(*items));
	if (n)
		tell(&items[0], why);
	*n_out = n;
	*out = items;
	return 0;
}

static int finish(const struct ranks_plan *plan, struct ranks_arena *arena,
		  const struct ranks_total *total, int task, int n, hpm_event_vector in, int *n_out,
		  hpm_event_vector *out, int *is_print_task)
{
	struct ranks_tasks apart = total->changed;
	char path[RANKS_ROUNDS + 1];
	const struct ranks_group *group;
	struct ranks_group own;
	int is_changed, is_apart, error;

	error = ranks_collect(arena, task, n, in, &own, &is_changed);
	if (error)
		return error;
	ranks_add_tasks(&apart, &total->uneven);
	ranks_add_tasks(&apart, &total->crowded);
	group = ranks_group_for(total, &own, path);
	is_apart = is_changed || !group || group->state != RANKS_SETTLED ||
		   ranks_place(&total->crowded, task) >= 0;
	if (is_apart) {
		const int64_t place = ranks_place(&apart, task);
		const char *why = is_changed				   ? why_changed(1)
				  : ranks_place(&total->uneven, task) >= 0 ? why_uneven(1)
									   : why_crowded(1);

		*is_print_task = place >= 0 && place < RANKS_APART;
		if (*is_print_task)
			error = print_own(n, in,
					  ranks_text(&given, "task %d by itself: %s", task, why),
					  n_out, out);
	} else {
		*is_print_task = task == ranks_lowest(&group->tasks);
		if (*is_print_task)
			error = print_group(plan, total, group, !n || in[0].mpi_task_id >= 0, n_out,
					    out);
	}
	if (!error && *is_print_task && *n_out && is_first(total, &apart, task))
		tell_rest(total, &(*out)[0]);
	return error;
}

int ranks_finish(const struct ranks_plan *plan, const hpm_blob *shared, int task, int n,
		 hpm_event_vector items, int *n_out, hpm_event_vector *out, int *is_print_task)
{
	struct ranks_arena arena = {0};
	struct ranks_total total;
	int error;

	*n_out = 0;
	*out = NULL;
	*is_print_task = 0;
	error = ranks_unpack(&arena, shared, &total);
	if (!error)
		error = finish(plan, &arena, &total, task, n, items, n_out, out, is_print_task);
	ranks_drop(&arena);
	return error;
}
