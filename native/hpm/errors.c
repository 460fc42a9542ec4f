/*
 * What goes wrong is counted and said once. The first words are those of the guide
 * (2.3, 3.6.2, 3.11), by which scripts may look for them.
 */
#include "section_engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file_signals.h"
#include "gnomon/libhpm.h"
#include "write_all.h"

int hpm_error_count;

/* The same for Fortran: the common block of f_hpm.h. */
extern HPM_API int hpm_error_count_;
int hpm_error_count_;

static _Atomic unsigned int told;

const char *const hpm_function_name[HPM_CALLS] = {
	[HPM_CALL_START] = "hpmStart",
	[HPM_CALL_TSTART] = "hpmTstart",
	[HPM_CALL_STARTX] = "hpmStartx",
	[HPM_CALL_TSTARTX] = "hpmTstartx",
	[HPM_CALL_STOP] = "hpmStop",
	[HPM_CALL_TSTOP] = "hpmTstop",
	[HPM_CALL_F_START] = "f_hpmstart",
	[HPM_CALL_F_TSTART] = "f_hpmtstart",
	[HPM_CALL_F_STARTX] = "f_hpmstartx",
	[HPM_CALL_F_TSTARTX] = "f_hpmtstartx",
	[HPM_CALL_F_STOP] = "f_hpmstop",
	[HPM_CALL_F_TSTOP] = "f_hpmtstop",
	[HPM_CALL_GET_TIME] = "hpmGetTimeAndCounters",
	[HPM_CALL_GET] = "hpmGetCounters",
};

static const char *const beginnings[HPM_ERRORS] = {
	[HPM_BAD_ID] = "Illegal instance id specified",
	[HPM_BAD_PARENT] = "Illegal instance id specified",
	[HPM_WRONG_THREAD] = "Instance ID on wrong thread",
	[HPM_WRONG_KIND] = "Illegal instance id specified",
	[HPM_NOT_STARTED] = "Illegal instance id specified",
	[HPM_NOT_INITIALISED] = "not initialised",
	[HPM_TWICE] = "initialised twice",
	[HPM_TERMINATED] = "already terminated",
	[HPM_IN_SIGNAL] = "called in a signal handler",
	[HPM_NO_MEMORY] = "out of memory",
	[HPM_NO_COUNTERS] = "no counters",
	[HPM_BAD_GROUP] = "pm_set_program_mygroup:\npm_api : event group ID is invalid",
	[HPM_BAD_EVENT] = "event cannot be counted",
	[HPM_BAD_PLUGIN] = "plug-in failed",
	[HPM_NOT_WRITTEN] = "output not written",
};

static int is_first(struct hpm_section *section, enum hpm_error error)
{
	static _Atomic pid_t teller;
	const unsigned int bit = 1u << error;
	pid_t none = 0;

	/* It is called twice at most. */
	if (error == HPM_BAD_PLUGIN)
		return 1;
	/* Every name that is none; forked children ask for the same again. */
	if (error == HPM_BAD_EVENT) {
		const pid_t self = getpid();

		return atomic_compare_exchange_strong(&teller, &none, self) || none == self;
	}
	if (section)
		return !(__atomic_fetch_or(&section->told, bit, __ATOMIC_RELAXED) & bit);
	return !(atomic_fetch_or(&told, bit) & bit);
}

void hpm_error(struct hpm_section *section, enum hpm_error error, const char *format, ...)
{
	const int before = errno;
	struct gn_file_signals signals;
	char line[2048];
	size_t length;
	va_list arguments;

	__atomic_fetch_add(&hpm_error_count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hpm_error_count_, 1, __ATOMIC_RELAXED);
	if (is_first(section, error)) {
		/* Plug-ins have a line of their own in the guide (2.8). */
		snprintf(line, sizeof(line),
			 error == HPM_BAD_PLUGIN ? "HPM ERROR - " : "hpmcount ERROR - %s: ",
			 beginnings[error]);
		length = strlen(line);
		va_start(arguments, format);
		vsnprintf(line + length, sizeof(line) - length - 1, format, arguments);
		va_end(arguments);
		length = strlen(line);
		line[length++] = '\n';
		gn_file_signals_hold(&signals);
		gn_write_all(STDERR_FILENO, line, length);
		gn_file_signals_release(&signals);
	}
	errno = before;
}
