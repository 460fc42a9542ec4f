/* From what was measured to the files, after hpmTerminate or a kill. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"

int hpm_conclude(const struct hpm_raw *raw, const struct hpm_settings *settings,
		 const double *rusage, double stopped, double wall_s, const char *notes)
{
	const struct hpm_raw_header *from = raw->header;
	const struct hpm_header header = {
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
	hpm_event_vector items, out;
	int n, n_out, failed = 0;

	if (hpm_items_of(raw, rusage, &n, &items)) {
		hpm_error(NULL, HPM_NO_MEMORY, "hpmTerminate: no room for the output; free some");
		return -1;
	}
	if (hpm_aggregate(n, items, &n_out, &out))
		failed = hpm_report_write(settings, &header, n_out, out);
	hpm_items_free(n, items);
	return failed;
}
