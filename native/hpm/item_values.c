/* What stands in items, in the words of all files. */
#include "item_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const hpm_time_names[HPM_NTIM] = {"wall",  "cycle", "user",	    "system",
					      "start", "stop",	"overhead", "init"};

const char *hpm_text(const char *text)
{
	return text ? text : "";
}

double hpm_value(const hpm_event_info *event)
{
	return event->how == HPM_UNAVAILABLE || !isfinite(event->value) ? NAN : event->value;
}

const char *hpm_how_name(int how)
{
	static const char *const names[] = {"counted",	"scaled",   "sampled",
					    "emulated", "modelled", "estimated"};

	/* What an aggregator made up is known no better than an estimate. */
	return how < 0 ? "" : names[how < HPM_ESTIMATED ? how : HPM_ESTIMATED];
}

const char *hpm_modes_name(int modes)
{
	switch (modes) {
	case HPM_MODE_ALL:
		return "all";
	case HPM_MODE_USER:
		return "user";
	case HPM_MODE_KERNEL:
		return "kernel";
	case HPM_MODE_HYPERVISOR:
		return "hypervisor";
	case HPM_MODE_USER | HPM_MODE_KERNEL:
		return "user+kernel";
	}
	return "";
}

int hpm_is_same_section(const hpm_data_item *first, const hpm_data_item *second)
{
	return !first->is_rusage && !second->is_rusage && first->instr_id == second->instr_id &&
	       first->thread_id == second->thread_id && first->process_id == second->process_id &&
	       first->mpi_task_id == second->mpi_task_id && first->parent_id == second->parent_id &&
	       !strcmp(hpm_text(first->label), hpm_text(second->label));
}

void hpm_timestamp_text(double seconds, int is_xml, char text[HPM_TIMESTAMP_SIZE])
{
	char offset[8] = "";
	time_t whole;
	struct tm when;
	int milliseconds;

	snprintf(text, HPM_TIMESTAMP_SIZE, is_xml ? "1970-01-01T00:00:00Z" : "n/a");
	if (!isfinite(seconds) || fabs(seconds) > 1e11)
		return;
	whole = (time_t)floor(seconds);
	milliseconds = (int)((seconds - floor(seconds)) * 1000);
	if (!localtime_r(&whole, &when))
		return;
	if (!is_xml) {
		strftime(text, HPM_TIMESTAMP_SIZE, "%d.%m.%Y %H:%M:%S", &when);
		return;
	}
	strftime(offset, sizeof(offset), "%z", &when);
	snprintf(text, HPM_TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%.3s:%.2s",
		 when.tm_year + 1900, when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min,
		 when.tm_sec, milliseconds, offset, offset + 3);
}
