/* The resource usage of the process: what getrusage(2) knows, and what each of it is called. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "section_engine.h"

/* Linux keeps no count of those that are 0 here: getrusage(2). */
static const struct {
	const char *name;
	const char *unit;
	const char *description;
	int is_kept;
	int is_peak;
} usage[HPM_RAW_RUSAGE] = {
	{"ru_utime", "s", "user time", 1, 0},
	{"ru_stime", "s", "system time", 1, 0},
	{"ru_maxrss", "KiB", "peak resident set", 1, 1},
	{"ru_ixrss", "KiB s", "shared text memory", 0, 0},
	{"ru_idrss", "KiB s", "unshared data", 0, 0},
	{"ru_isrss", "KiB s", "unshared stack", 0, 0},
	{"ru_minflt", "", "page faults without I/O", 1, 0},
	{"ru_majflt", "", "page faults with I/O", 1, 0},
	{"ru_nswap", "", "swaps", 0, 0},
	{"ru_inblock", "", "block input operations", 1, 0},
	{"ru_oublock", "", "block output operations", 1, 0},
	{"ru_msgsnd", "", "IPC messages sent", 0, 0},
	{"ru_msgrcv", "", "IPC messages received", 0, 0},
	{"ru_nsignals", "", "signals received", 0, 0},
	{"ru_nvcsw", "", "voluntary context switches", 1, 0},
	{"ru_nivcsw", "", "involuntary context switches", 1, 0},
};

void hpm_rusage(double value[HPM_RAW_RUSAGE])
{
	struct rusage used;

	memset(value, 0, HPM_RAW_RUSAGE * sizeof(*value));
	if (getrusage(RUSAGE_SELF, &used))
		return;
	value[0] = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6;
	value[1] = (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
	value[2] = (double)used.ru_maxrss;
	value[6] = (double)used.ru_minflt;
	value[7] = (double)used.ru_majflt;
	value[9] = (double)used.ru_inblock;
	value[10] = (double)used.ru_oublock;
	value[14] = (double)used.ru_nvcsw;
	value[15] = (double)used.ru_nivcsw;
}

void hpm_rusage_events(const struct hpm_raw_header *header, const double *now,
		       hpm_event_info info[HPM_RAW_RUSAGE])
{
	for (int i = 0; i < HPM_RAW_RUSAGE; i++) {
		const double then = usage[i].is_peak ? 0 : header->rusage[i];
		const char *reason = "";

		if (!usage[i].is_kept)
			reason = "Linux does not keep it";
		else if (!now)
			reason = "the process ended before it could be asked";
		info[i] = (hpm_event_info){
			.name = (char *)usage[i].name,
			.component = (char *)"",
			.unit = (char *)usage[i].unit,
			.description = (char *)usage[i].description,
			.reason = (char *)reason,
			.value = *reason ? NAN : now[i] - then,
			.how = *reason ? HPM_UNAVAILABLE : HPM_COUNTED,
		};
	}
}
