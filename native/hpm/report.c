/* Every file that was asked for, each whole or not at all. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_signals.h"
#include "numbers.h"
#include "output_names.h"
#include "writers.h"

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

void hpm_moment(double seconds, int is_xml, char text[HPM_MOMENT_SIZE])
{
	char offset[8] = "";
	time_t whole;
	struct tm when;
	int milliseconds;

	snprintf(text, HPM_MOMENT_SIZE, is_xml ? "1970-01-01T00:00:00Z" : "n/a");
	if (!isfinite(seconds) || fabs(seconds) > 1e11)
		return;
	whole = (time_t)floor(seconds);
	milliseconds = (int)((seconds - floor(seconds)) * 1000);
	if (!localtime_r(&whole, &when))
		return;
	if (!is_xml) {
		strftime(text, HPM_MOMENT_SIZE, "%d.%m.%Y %H:%M:%S", &when);
		return;
	}
	strftime(offset, sizeof(offset), "%z", &when);
	snprintf(text, HPM_MOMENT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%.3s:%.2s",
		 when.tm_year + 1900, when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min,
		 when.tm_sec, milliseconds, offset, offset + 3);
}

int hpm_is_same_section(const hpm_data_item *one, const hpm_data_item *other)
{
	return !one->is_rusage && !other->is_rusage && one->instr_id == other->instr_id &&
	       one->thread_id == other->thread_id && one->process_id == other->process_id &&
	       one->mpi_task_id == other->mpi_task_id && one->parent_id == other->parent_id &&
	       !strcmp(hpm_text(one->label), hpm_text(other->label));
}

int hpm_report_metrics(struct gn_atomic_file *output, const struct hpm_report *report,
		       const hpm_data_item *item, struct hpm_metric **metrics)
{
	int n;

	*metrics = calloc(HPM_METRICS_MAX, sizeof(**metrics));
	n = *metrics ? hpm_metrics_of(item, &report->constants, *metrics, HPM_METRICS_MAX)
		     : -ENOMEM;
	if (n >= 0)
		return n;
	if (!output->error)
		output->error = ENOMEM;
	return 0;
}

typedef void writer(struct gn_atomic_file *output, const struct hpm_report *report);

/* Tasks of one MPI job, say, that all have one name. */
static void warn_of_another(const struct hpm_report *report, const char *name)
{
	const struct hpm_settings *settings = report->settings;
	char path[PATH_MAX + 8];
	struct stat status;

	snprintf(path, sizeof(path), "%s%s", name,
		 settings->asc	 ? ".hpm"
		 : settings->viz ? ".viz"
				 : ".csv");
	if (settings->is_repair || stat(path, &status) || !S_ISREG(status.st_mode) ||
	    (double)status.st_mtim.tv_sec + (double)status.st_mtim.tv_nsec / 1e9 <=
		    report->header->started)
		return;
	hpm_warn("%.600s is replaced, which another process has written since this one began; set "
		 "HPM_UNIQUE_FILE_NAME=1",
		 path);
}

static const char *remedy(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "make room there, or set HPM_OUTPUT_NAME to another place";
	case EFBIG:
		return "raise the limit of a file's size (ulimit -f), or write fewer files";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case ENOENT:
		return "make the folder, or set HPM_OUTPUT_NAME to another place";
	case ENAMETOOLONG:
		return "set HPM_OUTPUT_NAME to a shorter name";
	}
	return "set HPM_OUTPUT_NAME to a name that can be written";
}

/* 0, or -1: said on stderr. A pipe without readers is no failure. */
static int close_output(struct gn_atomic_file *output)
{
	const int error = gn_atomic_file_close(output);
	char why[128];

	if (!error || error == EPIPE)
		return 0;
	hpm_warn("%.600s was not written: %s; %s", output->name,
		 strerror_r(error, why, sizeof(why)),
		 output->path[0] ? remedy(error) : "unset HPM_STDOUT, or send it elsewhere");
	return -1;
}

static int write_file(struct gn_atomic_file *output, const struct hpm_report *report,
		      const char *name, const char *ending, writer *write_it)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s%s", name, ending);
	gn_atomic_file_open(output, path);
	if (!output->error)
		write_it(output, report);
	return close_output(output);
}

static int write_all(struct gn_atomic_file *output, const struct hpm_report *report)
{
	const struct hpm_settings *settings = report->settings;
	char host[256], name[PATH_MAX];
	struct hpm_instance instance;
	int failed = 0;

	snprintf(name, sizeof(name), "%s", settings->name);
	hpm_instance_now(&instance, host);
	if (settings->unique &&
	    hpm_unique_name(settings->name, &instance, name, sizeof(name) - 8)) {
		hpm_warn("%.600s is too long to be made unique; set HPM_OUTPUT_NAME to a shorter "
			 "name",
			 settings->name);
		snprintf(name, sizeof(name), "%s", settings->name);
		failed = -1;
	}
	if (settings->asc || settings->viz || settings->csv)
		warn_of_another(report, name);
	if (settings->asc)
		failed |= write_file(output, report, name, ".hpm", hpm_text_write);
	if (settings->viz)
		failed |= write_file(output, report, name, ".viz", hpm_viz_write);
	if (settings->csv)
		failed |= write_file(output, report, name, ".csv", hpm_csv_write);
	if (settings->to_stdout) {
		/* What the program printed so far comes first. */
		fflush(stdout);
		gn_atomic_file_wrap(output, STDOUT_FILENO, "standard output");
		hpm_text_write(output, report);
		/* What is in a file is not lost. */
		if (close_output(output) && !settings->asc && !settings->viz && !settings->csv)
			failed = -1;
	}
	return failed;
}

int hpm_report_write(const struct hpm_settings *settings, const struct hpm_header *header, int n,
		     hpm_event_vector items)
{
	struct hpm_report report = {settings, header, items, n, 0, settings->constants};
	struct gn_atomic_file *output = malloc(sizeof(*output));
	struct gn_file_signals signals;
	locale_t before;
	int failed;

	if (!output) {
		hpm_warn("%.600s was not written: no memory", settings->name);
		return -1;
	}
	for (int i = 0; i < n; i++)
		report.is_over_tasks |= items[i].n_tasks > 0;
	hpm_machine_name(&report.constants);
	before = uselocale(hpm_locale());
	gn_file_signals_hold(&signals);
	failed = write_all(output, &report);
	gn_file_signals_release(&signals);
	uselocale(before);
	free(output);
	return failed;
}
