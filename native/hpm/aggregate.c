/* Distributor and aggregator: linked into the program, of a plug-in, of a script, or none. */
#include "aggregate.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "call_guard.h"
#include "gnomon/hpm_agg.h"
#include "item_copy.h"
#include "number_text.h"
#include "output_names.h"
#include "python_plugin.h"
#include "section_engine.h"

/* For an aggregator; what waits for other tasks of the job has that much from then on. */
#define TIMEOUT_USUAL_S 60
#define TIMEOUT_MOST_S 86400
#define EXTRA_S 2

/* Tasks that all end so, as MPI_Finalize comes in a destructor, come together within that. */
#define HASTY_S "5"

/* Those of a program that is linked with a plug-in go before HPM_AGGREGATE (3.13.2). */
__attribute__((weak)) int distributor(void);
__attribute__((weak)) int aggregator(int num_in, hpm_event_vector in, int *num_out,
				     hpm_event_vector *out, int *is_print_task);

/* Of libhpm_plugin, where there is one: see hpm_tree.h. */
__attribute__((weak)) int hpm_job_join(const char *purpose, char *where, size_t size);
__attribute__((weak)) void hpm_job_end(void);

typedef int distribute(void);
typedef int aggregate(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
		      int *is_print_task);
typedef int join(const char *purpose, char *where, size_t size);
typedef void end(void);

static struct {
	void *library;
	aggregate *aggregate;
	struct hpm_python_plugin script; /* without a name where it is in C */
	int has_job;			 /* it puts together what the tasks of a job measured */
	int is_missing;			 /* it was asked for, and cannot be had */
	int job;			 /* the descriptor by which this task is known; -1: none */
	char where[PATH_MAX];
	end *end;
} plugin = {.job = -1};

static double timeout_s(void)
{
	static double seconds;
	const char *asked = getenv("HPM_AGGREGATE_TIMEOUT");

	if (seconds > 0)
		return seconds;
	if (!asked || !*asked) {
		seconds = TIMEOUT_USUAL_S;
	} else if (hpm_real(asked, &seconds) || !(seconds > 0 && seconds <= TIMEOUT_MOST_S)) {
		hpm_warn("HPM_AGGREGATE_TIMEOUT=%.60s is ignored; set it to a number of seconds "
			 "above 0, at "
			 "most %d",
			 asked, TIMEOUT_MOST_S);
		seconds = TIMEOUT_USUAL_S;
	}
	seconds += EXTRA_S;
	return seconds;
}

/* --- finding it ------------------------------------------------------------------------------- */

static int ends_with(const char *text, const char *ending)
{
	const size_t length = strlen(text), least = strlen(ending);

	return length > least && !strcmp(text + length - least, ending);
}

/* A file that came with this library: 0, or -1. */
static int find_beside(const char *name, const char *ending, char *path, size_t size)
{
	static const char *const folders[] = {"", "lib/"};
	char here[PATH_MAX];
	Dl_info info;

	if (!dladdr(&plugin, &info) || !realpath(info.dli_fname, here))
		return -1;
	*strrchr(here, '/') = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const int length =
			snprintf(path, size, "%s/%s%s%s", here, folders[i], name, ending);

		if (length > 0 && (size_t)length < size && !access(path, R_OK))
			return 0;
	}
	return -1;
}

/* A shipped plug-in, which has no path. */
static int find_shipped(const char *name, char *path, size_t size)
{
	char file[256];
	const int length = snprintf(file, sizeof(file), "gnomon/plugins/%s", name);

	if (strchr(name, '/') || length < 0 || (size_t)length >= sizeof(file))
		return -1;
	return find_beside(file, ends_with(name, ".so") ? "" : ".so", path, size);
}

/* dlsym(3) has no type for functions. */
static void *symbol(const char *name)
{
	void *address = dlsym(plugin.library, name);

	if (!address)
		hpm_error(NULL, HPM_BAD_PLUGIN,
			  "Dynamic link error at dlsym(): %s; HPM_AGGREGATE names a plug-in with "
			  "the functions distributor and aggregator",
			  dlerror());
	return address;
}

static int is_script(const char *name)
{
	return ends_with(name, ".py") || (strchr(name, ':') && !ends_with(name, ".so"));
}

/* Gnomon's Python says which interpreter it is; the user of a program in C may. */
static void load_script(const char *name)
{
	const char *python = secure_getenv("HPM_PYTHON");

	if (python && *python) {
		plugin.script.python = python;
		plugin.script.name = name;
		return;
	}
	plugin.is_missing = 1;
	hpm_error(
		NULL, HPM_BAD_PLUGIN,
		"HPM_AGGREGATE=%s is written in Python, but this program has no Python to run it; "
		"every task writes what it measured. Set HPM_PYTHON to the path of a python3 that "
		"has Gnomon, or use a plug-in in C",
		name);
}

static void load(const char *name)
{
	char path[2 * PATH_MAX];
	char first[512] = "";
	void *address;

	if (is_script(name)) {
		load_script(name);
		return;
	}
	if (!find_shipped(name, path, sizeof(path))) {
		plugin.library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	} else {
		plugin.library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
		if (!plugin.library) {
			snprintf(first, sizeof(first), "%s", dlerror());
			snprintf(path, sizeof(path), "%s.so", name);
			if (!ends_with(name, ".so"))
				plugin.library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
		}
	}
	/* What is done without a plug-in, and whose file nobody needs (3.12.4). */
	if (!plugin.library && (!strcmp(name, "mirror.so") || !strcmp(name, "mirror")))
		return;
	if (!plugin.library) {
		plugin.is_missing = 1;
		hpm_error(NULL, HPM_BAD_PLUGIN, "Dynamic link error at dlopen():\n%s",
			  first[0] ? first : dlerror());
		return;
	}
	address = symbol("aggregator");
	memcpy(&plugin.aggregate, &address, sizeof(address));
	plugin.is_missing = !address;
}

static void *function_of(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

/* Others wait for this task from now on. */
static void join_job(void)
{
	join *function = hpm_job_join;
	void *library = plugin.library, *address;
	char path[2 * PATH_MAX];

	if (plugin.script.name && !find_beside("libhpm_plugin.so.0", "", path, sizeof(path)))
		library = dlopen(path, RTLD_NOW);
	plugin.end = hpm_job_end;
	if (!function) {
		address = function_of(library, "hpm_job_join");
		memcpy(&function, &address, sizeof(address));
		address = function_of(library, "hpm_job_end");
		memcpy(&plugin.end, &address, sizeof(address));
	}
	plugin.has_job = function || plugin.script.name;
	if (function)
		plugin.job = function("sections", plugin.where, sizeof(plugin.where));
	plugin.script.job = plugin.job;
	plugin.script.where = plugin.where;
}

static int is_true(const char *name)
{
	int (*function)(int *flag);
	void *address = dlsym(RTLD_DEFAULT, name);
	int flag = 0;

	memcpy(&function, &address, sizeof(address));
	return address && !function(&flag) && flag;
}

void hpm_shorten_wait(void)
{
	const char *asked = getenv("HPM_AGGREGATE_TIMEOUT");
	double seconds;

	if (!plugin.has_job || !is_true("MPI_Initialized") || is_true("MPI_Finalized"))
		return;
	if (asked && *asked && !hpm_real(asked, &seconds) && seconds < strtod(HASTY_S, NULL))
		return;
	hpm_error(NULL, HPM_BAD_PLUGIN,
		  "task %ld ends without hpmTerminate and MPI_Finalize, for which the other tasks "
		  "may wait: it waits for them for " HASTY_S " s",
		  hpm_mpi_task());
	setenv("HPM_AGGREGATE_TIMEOUT", HASTY_S, 1);
}

/* --- calling it ------------------------------------------------------------------------------- */

static const char *said(int failed)
{
	return failed > 0 ? strerror(failed) : "it returned a negative number";
}

/* What became of a guarded call, in words; "" if it came back. */
static const char *ending(int ended, char *text, size_t size)
{
	text[0] = '\0';
	if (ended == -ETIMEDOUT)
		snprintf(text, size,
			 "it did not return within %.0f s (HPM_AGGREGATE_TIMEOUT gives it more "
			 "time)",
			 timeout_s());
	else if (ended)
		snprintf(text, size, "it crashed: SIG%s, %s", sigabbrev_np(ended),
			 sigdescr_np(ended));
	return text;
}

struct distributing {
	distribute *function;
	int failed;
};

static void call_distributor(void *context)
{
	struct distributing *call = context;

	call->failed = call->function();
}

static void run_distributor(distribute *function)
{
	struct distributing call = {function, 0};
	char why[256];
	const int ended = gn_call_guarded(call_distributor, &call, timeout_s(), -1);

	if (ended || call.failed)
		hpm_error(NULL, HPM_BAD_PLUGIN, "the distributor failed: %s; counting continues",
			  ended ? ending(ended, why, sizeof(why)) : said(call.failed));
}

void hpm_distribute(void)
{
	/* A set-user-ID program loads nothing that its user names. */
	const char *name = secure_getenv("HPM_AGGREGATE");
	distribute *function = distributor;
	char why[512] = "";

	if (!function && !aggregator && name && *name && !plugin.library && !plugin.script.name) {
		load(name);
		if (plugin.library) {
			void *found = symbol("distributor");

			memcpy(&function, &found, sizeof(found));
		}
	}
	plugin.script.limit_s = timeout_s();
	plugin.script.job = -1;
	if (function)
		run_distributor(function);
	else if (plugin.script.name &&
		 hpm_python_plugin_distribute(&plugin.script, why, sizeof(why)))
		hpm_error(NULL, HPM_BAD_PLUGIN, "the distributor failed: %s; counting continues",
			  why);
	join_job();
}

struct aggregating {
	aggregate *function;
	int n;
	hpm_event_vector in;
	int failed;
	int is_print_task;
	int n_out;
	hpm_event_vector out;
	int copied; /* 0 or an errno of hpm_items_copy() */
	struct hpm_copy copy;
};

static void call_aggregator(void *context)
{
	struct aggregating *call = context;

	call->failed =
		call->function(call->n, call->in, &call->n_out, &call->out, &call->is_print_task);
	/* Reading is where a wrong pointer does harm. */
	if (!call->failed && call->is_print_task)
		call->copied = hpm_items_copy(call->n_out, call->out, &call->copy);
}

/* Nobody shall wait for this task in vain. */
static void leave_job(void)
{
	if (plugin.end)
		plugin.end();
}

static enum hpm_verdict run_script(const struct hpm_header *header, int n, hpm_event_vector items,
				   int *n_out, hpm_event_vector *out)
{
	char why[512];
	int is_print_task;

	if (!hpm_python_plugin_aggregate(&plugin.script, header, n, items, n_out, out,
					 &is_print_task, why, sizeof(why)))
		return is_print_task ? HPM_OF_JOB : HPM_SILENT;
	hpm_error(NULL, HPM_BAD_PLUGIN,
		  "the aggregator failed: %s; the output is written without it", why);
	*n_out = n;
	*out = items;
	leave_job();
	return HPM_NOT_AGGREGATED;
}

/* What goes in is a copy, which a plug-in may spoil; and may keep, as it may what goes out. */
static struct hpm_copy given, taken;

enum hpm_verdict hpm_aggregate(const struct hpm_header *header, int is_child, int n,
			       hpm_event_vector items, int *n_out, hpm_event_vector *out)
{
	struct aggregating call = {.function = aggregator ? aggregator : plugin.aggregate,
				   .is_print_task = 1};
	char why[256];
	int ended;

	*n_out = n;
	*out = items;
	/* A child that was forked is no task of the job: it writes its own. */
	if ((!call.function && !plugin.script.name) || (is_child && plugin.has_job))
		return plugin.is_missing ? HPM_NOT_AGGREGATED : HPM_AS_IT_IS;
	if (!call.function)
		return run_script(header, n, items, n_out, out);
	if (hpm_items_copy(n, items, &given)) {
		hpm_error(NULL, HPM_NO_MEMORY,
			  "hpmTerminate: no memory for the aggregator; free some memory");
		leave_job();
		return HPM_NOT_AGGREGATED;
	}
	call.n = call.n_out = n;
	call.in = call.out = given.items;
	ended = gn_call_guarded(call_aggregator, &call, timeout_s(), plugin.job);
	if (!ended && !call.failed && !call.copied) {
		taken = call.copy;
		if (call.is_print_task) {
			*n_out = taken.n;
			*out = taken.items;
		}
		return !call.is_print_task ? HPM_SILENT
		       : plugin.has_job	   ? HPM_OF_JOB
					   : HPM_AS_IT_IS;
	}
	hpm_error(NULL, HPM_BAD_PLUGIN, "the aggregator %s: %s; the output is written without it",
		  call.copied == EBADMSG && !ended ? "returned invalid data" : "failed",
		  ended			   ? ending(ended, why, sizeof(why))
		  : call.failed		   ? said(call.failed)
		  : call.copied == EBADMSG ? call.copy.lie
					   : strerror(call.copied));
	leave_job();
	return ended ? HPM_CRASHED : HPM_NOT_AGGREGATED;
}
