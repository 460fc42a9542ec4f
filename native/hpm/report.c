/* Every file that was asked for, each whole or not at all. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_signals.h"
#include "number_text.h"
#include "output_names.h"
#include "writers.h"

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
	hpm_warn("%.600s, written by another process since this one began, is replaced; set "
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
		return "raise the limit on file size (ulimit -f), or write fewer files";
	case EMFILE:
	case ENFILE:
		return "raise the limit on open files (ulimit -n)";
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
	hpm_constants_name_cpu(&report.constants);
	before = uselocale(hpm_locale());
	gn_file_signals_hold(&signals);
	failed = write_all(output, &report);
	gn_file_signals_release(&signals);
	uselocale(before);
	free(output);
	return failed;
}
