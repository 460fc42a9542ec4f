/* Until the report is there. */
#include <stdio.h>
#include <string.h>
#include "report.h"
int hpm_groups_find(const char *set, struct hpm_group *out, int max, char *why, size_t size)
{
	(void)max;
	if (set && strcmp(set, "1") && strcmp(set, "1,2")) {
		snprintf(why, size, "no group %s; take 1", set);
		return -1;
	}
	memset(out, 0, sizeof(*out));
	out->number = 1;
	out->name = "DEFAULT";
	out->description = "";
	out->n = 4;
	out->events[0] = "task-clock";
	out->events[1] = "context-switches";
	out->events[2] = "page-faults";
	out->events[3] = "minor-faults";
	return 1;
}
int hpm_report_write(const struct hpm_settings *settings, const struct hpm_header *header, int n,
		     hpm_event_vector items)
{
	char path[PATH_MAX + 8];
	FILE *f;

	(void)header;
	snprintf(path, sizeof(path), "%s.hpm", settings->name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	for (int i = 0; i < n; i++) {
		fprintf(f, "item %d \"%s\" exclusive %d count %d parent %d thread %d wall %.9f overhead %.9f\n",
			items[i].instr_id, items[i].label ? items[i].label : "", items[i].is_exclusive,
			items[i].count, items[i].parent_id, items[i].thread_id, items[i].times[0],
			items[i].times[6]);
		for (int e = 0; e < items[i].num_data; e++)
			fprintf(f, "  %s %.0f %s how %d %s\n", items[i].data[e].name,
				items[i].data[e].value, items[i].data[e].unit,
				items[i].data[e].how, items[i].data[e].reason);
	}
	fclose(f);
	return 0;
}
