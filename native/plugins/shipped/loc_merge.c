/*
 * Groups of events that each had a part of the time, as one: counts are as large as they would have
 * been over the whole of it. That is guessing where the program does different things at different
 * times.
 */
#include <math.h>
#include <stdint.h>

#include "independent_ranks.h"

static int is_same_text(const char *one, const char *other)
{
	return !strcmp(one ? one : "", other ? other : "");
}

static int is_same_section(const hpm_data_item *first, const hpm_data_item *second)
{
	return !first->is_rusage && !second->is_rusage && first->instr_id == second->instr_id &&
	       first->is_exclusive == second->is_exclusive &&
	       first->thread_id == second->thread_id && first->process_id == second->process_id &&
	       first->mpi_task_id == second->mpi_task_id &&
	       is_same_text(first->label, second->label);
}

/* Turns are over the same time, and have been scaled; groups that were changed follow each other.
 */
static void add_times(hpm_data_item *into, const hpm_data_item *part)
{
	static const int sums[] = {HPM_TIME_WALLCLOCK, HPM_TIME_CYCLE, HPM_TIME_USER,
				   HPM_TIME_SYSTEM, HPM_TIME_OVERHEAD};

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		into->times[sums[i]] += part->times[sums[i]];
	into->times[HPM_TIME_START] =
		fmin(into->times[HPM_TIME_START], part->times[HPM_TIME_START]);
	into->times[HPM_TIME_STOP] = fmax(into->times[HPM_TIME_STOP], part->times[HPM_TIME_STOP]);
	into->count += part->count;
}

static void extend(hpm_event_info *event, double factor)
{
	if (event->how == HPM_UNAVAILABLE || event->flags & HPM_IS_DERIVED || factor == 1)
		return;
	event->value *= factor;
	if (event->how < HPM_SCALED)
		event->how = HPM_SCALED;
}

/* An event of several groups has the value of the one that counted it longest. */
static void add_event(hpm_data_item *into, const hpm_event_info *event)
{
	for (int i = 0; i < into->num_data; i++) {
		hpm_event_info *mine = &into->data[i];

		if (!is_same_text(mine->name, event->name))
			continue;
		if (event->how != HPM_UNAVAILABLE &&
		    (mine->how == HPM_UNAVAILABLE || event->running_s > mine->running_s))
			*mine = *event;
		return;
	}
	into->data[into->num_data++] = *event;
}

static int merge_section(const hpm_data_item *parts, int n, hpm_data_item *into)
{
	const double first_wall = parts[0].times[HPM_TIME_WALLCLOCK];
	size_t n_events = 0, length = 1;
	char *group;

	for (int i = 0; i < n; i++) {
		n_events += (size_t)parts[i].num_data;
		length += 2 + (parts[i].group ? strlen(parts[i].group) : 0);
	}
	*into = parts[0];
	into->num_data = 0;
	into->data = calloc(n_events + 1, sizeof(*into->data));
	into->group = group = calloc(length, 1);
	if (!into->data || !group)
		return ENOMEM;
	for (int i = 1; i < n; i++)
		if (!parts[i].is_mplex_cont)
			add_times(into, &parts[i]);
	for (int i = 0; i < n; i++) {
		const double wall = parts[i].times[HPM_TIME_WALLCLOCK];
		/* Turns share the time of the one before them. */
		const double own = parts[i].is_mplex_cont && !(wall > 0) ? first_wall : wall;
		const double factor = own > 0 ? into->times[HPM_TIME_WALLCLOCK] / own : 1;

		for (int at = 0; at < parts[i].num_data; at++) {
			hpm_event_info event = parts[i].data[at];

			extend(&event, isfinite(factor) ? factor : 1);
			add_event(into, &event);
		}
		if (i)
			strcat(group, ", ");
		if (parts[i].group)
			strcat(group, parts[i].group);
	}
	return 0;
}

static int keep(int task, int n, hpm_event_vector items, int *n_out, hpm_event_vector *out,
		int *is_print_task)
{
	hpm_event_vector merged;
	int error, n_merged = 0;

	(void)task;
	*is_print_task = 1;
	error = copy_items(n, items, n_out, out);
	merged = *out;
	for (int i = 0, parts; !error && i < n; i += parts) {
		for (parts = 1; i + parts < n; parts++)
			if (!is_same_section(&items[i], &items[i + parts]))
				break;
		if (parts > 1)
			error = merge_section(&items[i], parts, &merged[n_merged]);
		else
			merged[n_merged] = items[i];
		n_merged++;
	}
	*n_out = n_merged;
	return error;
}

APART_PLUGIN(keep, -1)
