/* What is said of tasks that are missing, in the descriptions of items. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "reduction.h"

static char *joined(const char *first, const char *between, const char *second)
{
	char *text;

	if (!first || !*first)
		return strdup(second);
	return asprintf(&text, "%s%s%s", first, between, second) < 0 ? NULL : text;
}

/* Adds a line to what is printed before an item; what was there stays somebody else's. */
static void tell(hpm_data_item *item, const char *line)
{
	char *description = joined(item->description, "\n", line);
	char *xml = joined(item->xml_descr, "; ", line);

	if (description)
		item->description = description;
	if (xml)
		item->xml_descr = xml;
}

void hpm_gap_say(const hpm_gap *gap, char *line, size_t size)
{
	if (gap->first == gap->last)
		snprintf(line, size, "task %d %s", gap->first, gap->why);
	else
		snprintf(line, size, "tasks %d-%d %s", gap->first, gap->last, gap->why);
}

/* Whether an item is over one of these tasks ("0-3,7 and 12 more"), as far as that can be told. */
static int is_over(const hpm_data_item *item, const hpm_gap *gap)
{
	const char *next = item->tasks;
	char *end;

	while (next && item->n_tasks > 0) {
		const long first = strtol(next, &end, 10);
		const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

		if (end == next || (first <= gap->last && last >= gap->first))
			return 1;
		if (*end != ',')
			return *end != 0;
		next = end + 1;
	}
	return 1;
}

void hpm_gaps_tell(const hpm_gap *gaps, int n_gaps, int n, hpm_event_vector out)
{
	char line[GN_REASON_SIZE + 128];

	for (int i = 0; n && i < n_gaps; i++) {
		/* One that is in another group is told of there. */
		if (gaps[i].is_in && !is_over(&out[0], &gaps[i]))
			continue;
		hpm_gap_say(&gaps[i], line, sizeof(line));
		strcat(line, gaps[i].is_in ? ": included" : ": not included");
		tell(&out[0], line);
	}
}

int hpm_own_items(int n, hpm_event_vector in, const char *why, int *n_out, hpm_event_vector *out,
		  int *is_print_task)
{
	hpm_event_vector copy = calloc((size_t)n + 1, sizeof(*copy));

	if (!copy)
		return ENOMEM;
	memcpy(copy, in, (size_t)n * sizeof(*copy));
	if (n)
		tell(&copy[0], why);
	*n_out = n;
	*out = copy;
	*is_print_task = 1;
	return 0;
}
