/* From what was measured to the files, after hpmTerminate or a kill. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate.h"
#include "call_guard.h"
#include "section_engine.h"

/* A report takes milliseconds, if nothing is locked that it needs. */
#define REPORT_S 60

struct report {
	const struct hpm_settings *settings;
	const struct hpm_header *header;
	int n;
	hpm_event_vector items;
	int failed;
};

/* What is to be written if an aggregator ends the program. */
static struct report *_Atomic pending;

static void write_report(void *context)
{
	struct report *report = context;

	report->failed =
		hpm_report_write(report->settings, report->header, report->n, report->items);
}

/* Several tasks that write: only that of task 0 has the name alone. */
static void name_by_task(struct hpm_settings *settings, long task)
{
	const size_t length = strlen(settings->name);

	if (task > 0 && !settings->unique)
		snprintf(settings->name + length, sizeof(settings->name) - length, "_%ld", task);
}

int hpm_finalize_exit(void)
{
	struct report *report = atomic_exchange(&pending, NULL);

	if (!report || !gn_call_guard_leave())
		return -1;
	hpm_error(NULL, HPM_BAD_PLUGIN,
		  "the aggregator failed: it called exit; the output is written without it");
	write_report(report);
	return report->failed;
}

int hpm_finalize(const struct hpm_raw *raw, const struct hpm_settings *settings,
		 const double *rusage, double stopped, double wall_s, const char *notes)
{
	const struct hpm_raw_header *from = raw->header;
	struct hpm_header header = {
		.program = from->program,
		.command = from->command,
		.host = from->host,
		.events = from->asked,
		.notes = notes,
		.process = (long)from->pid,
		.task = from->task,
		.started = (double)from->realtime_ns / 1e9,
		.stopped = stopped,
		.wall_s = wall_s,
	};
	struct hpm_settings own = *settings;
	struct report report = {.settings = &own, .header = &header};
	hpm_event_vector items;
	struct hpm_start_address *starts;
	enum hpm_verdict verdict;
	int n;

	if (hpm_items_of(raw, rusage, 0, &n, &items)) {
		hpm_error(NULL, HPM_NO_MEMORY,
			  "hpmTerminate: no memory for the output; free some memory");
		return -1;
	}
	header.start = starts = hpm_starts_of(raw, &header.n_starts);
	report.n = n;
	report.items = items;
	if (!settings->is_repair)
		hpm_staging_write(raw, rusage, stopped, wall_s, notes);
	name_by_task(&own, from->task);
	pending = &report;
	verdict = hpm_aggregate(&header, (int)from->is_child, n, items, &report.n, &report.items);
	pending = NULL;
	if (verdict == HPM_AS_IT_IS)
		own = *settings;
	if (verdict == HPM_CRASHED) {
		if (gn_call_guarded(write_report, &report, REPORT_S, -1))
			report.failed = -1;
	} else if (verdict != HPM_SILENT) {
		write_report(&report);
	}
	if (verdict != HPM_CRASHED) {
		hpm_items_free(n, items);
		free(starts);
	}
	return report.failed;
}
