/* What becomes of measured sections: settings, file names, groups, metrics and files. */
#ifndef GNOMON_HPM_REPORT_H
#define GNOMON_HPM_REPORT_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "gnomon/hpm_data.h"

/* --- settings.c ------------------------------------------------------------------------------- */

#define HPM_CONSTANTS_MAX 64
#define HPM_CPUS_MAX 16

/* A number that formulas may use beside counts and times. */
struct hpm_constant {
	char name[40];
	double value;
	int how; /* HPM_COUNTED: measured or read from the machine; HPM_ESTIMATED: somebody said so
		  */
};

struct hpm_constants {
	int n;
	struct hpm_constant constant[HPM_CONSTANTS_MAX];
	int is_named; /* hpm_constants_name_cpu() has been called */
	int n_cpus;   /* libpfm4's names of the core PMUs, which definitions may ask for */
	char cpu[HPM_CPUS_MAX][32];
};

struct hpm_settings {
	char name[PATH_MAX]; /* of the files, without .hpm, .viz, .csv */
	int asc;	     /* which of them to write */
	int viz;
	int csv;
	int to_stdout; /* copy the text there */
	int formulas;  /* in the text; the other files always have them */
	int unique;    /* host, task or process, date and time are put into the name */
	int is_repair; /* files that are newer than the run's beginning are replaced without a word
			*/
	struct hpm_constants constants;
};

/*
 * Reads HPM_OUTPUT_NAME, HPM_ASC_OUTPUT, HPM_VIZ_OUTPUT, HPM_CSV_OUTPUT, HPM_STDOUT,
 * HPM_PRINT_FORMULA, HPM_UNIQUE_FILE_NAME, HPM_*_LATENCY and HPM_DIV_WEIGHT, by libhpm's rules, and
 * what the metrics need to know of the machine. A value that makes no sense is reported on stderr,
 * and is as if it were not set. program: hpmInit's name. Always 0.
 */
int hpm_settings_read(struct hpm_settings *settings, const char *program);

/*
 * Adds libpfm4's names of the core PMUs and what is known by them, unless that has been done: takes
 * milliseconds where nobody has asked libpfm4 yet. hpm_report_write() does it, on a copy.
 */
void hpm_constants_name_cpu(struct hpm_constants *constants);

/* Whether a variable is set to something. */
int hpm_env_is_set(const char *variable);

/* Whether a variable begins with Y or y or is 1: HPM_{ASC,VIZ,CSV}_OUTPUT, HPM_EXCLUSIVE_VALUES. */
int hpm_env_is_yes(const char *variable);

/*
 * Whether a variable is 1, yes or YES (1), 0, no or NO (0), or not set or something else
 * (`otherwise`, said once): HPM_STDOUT, HPM_PRINT_FORMULA, HPM_USE_PTHREAD_MUTEX.
 */
int hpm_env_flag(const char *variable, int otherwise);

/* A variable's whole number in [least, most]; `otherwise` if it is not set or none (said once). */
long hpm_env_number(const char *variable, long least, long most, long otherwise);

/* One line on stderr: "HPM WARNING - ...", control characters of arguments made visible. */
__attribute__((format(printf, 1, 2))) void hpm_warn(const char *format, ...);

/* --- metrics.c, groups.c ---------------------------------------------------------------------- */

#define HPM_METRICS_MAX 512

struct hpm_metric {
	const char *name;
	const char *unit;
	const char *title; /* as IBM's HPM prints it, "" for what it does not have */
	const char *description;
	char *formula; /* in the names that were counted */
	double value;  /* finite */
	int how;       /* the worst of its inputs' */
	int modes;     /* that its events were counted in, 0 if none or different ones */
	int flags;     /* HPM_IS_NODE_WIDE */
	int tasks;     /* hpm_spread_tasks() of its inputs */
};

/*
 * Every metric that follows from an item's counts and times, in the order of the definitions.
 * Returns their number, at most `max`, or -ENOMEM.
 */
int hpm_metrics_of(const hpm_data_item *item, const struct hpm_constants *constants,
		   struct hpm_metric *out, int max);

void hpm_metrics_free(struct hpm_metric *metrics, int n);

#define HPM_GROUP_EVENTS_MAX 64

/* A group: everything is in the library's own tables. */
struct hpm_group {
	int number;
	const char *name;
	const char *description;
	int n;
	const char *events[HPM_GROUP_EVENTS_MAX];
};

/*
 * The groups of HPM_EVENT_SET: numbers or names in any case, separated by commas; the default group
 * for NULL or "". Where groups are for particular CPUs, the machine's is asked. Returns their
 * number, or -1: no such group or too many, `why` has the sentence.
 */
int hpm_groups_find(const char *set, struct hpm_constants *constants, struct hpm_group *out,
		    int max, char *why, size_t size);

/* --- report.c --------------------------------------------------------------------------------- */

/* Where a section was started first, as an address in a program or library. */
struct hpm_start_address {
	int id;
	unsigned long long offset; /* as the module's file has it */
	const char *label;	   /* of the section */
	const char *module;
	const char *build_id; /* in hexadecimal digits, or "" */
};

/* The run that the items are of. No text is NULL. */
struct hpm_header {
	const char *program; /* hpmInit's name */
	const char *command; /* the executable's path, or "" */
	const char *host;
	const char *events; /* what was asked for: groups or events, as given */
	const char *notes;  /* sentences for the report, one a line, or "" */
	long process;
	long task;	/* MPI task, -1 if there is none */
	double started; /* seconds since the epoch */
	double stopped;
	double wall_s; /* from hpmInit to hpmTerminate */
	int n_starts;
	const struct hpm_start_address
		*start; /* by id: of sections that have no place in the source */
};

/*
 * Writes every file that the settings ask for, and stdout. 0, or -1 if something could not be
 * written, which has been said on stderr; no part of a file is left behind. Neither signals nor
 * the locale of the program matter or are changed.
 */
int hpm_report_write(const struct hpm_settings *settings, const struct hpm_header *header, int n,
		     hpm_event_vector items);

#endif
