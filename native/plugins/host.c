/*
 * hpm-plugin-host: runs a plug-in in C for hpmcount and gnomon repair.
 *
 *	distribute PLUGIN	changes of the environment go to descriptor 3: "NAME=value\0", or
 *				"NAME\0" for what was unset
 *	aggregate PLUGIN	items come in; out go a byte that says whether this task prints,
 *				and items
 *	replay PLUGIN FILE...	files of ranks; out go items for each task that prints
 *
 * Failures are a line "HPM ERROR - ..." on stderr, and status 1.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gnomon/hpm_agg.h>
#include <gnomon/hpm_tree.h>

#include "item_codec.h"
#include "replay.h"
#include "write_all.h"

#define CHANGES_FD 3
#define READ_SIZE ((size_t)1 << 20)

typedef int distribute_function(void);
typedef int aggregate_function(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,
			       int *is_print_task);

extern char **environ;

static int output = -1; /* standard output, which plug-ins do not get */

__attribute__((format(printf, 1, 2))) static int failed(const char *format, ...)
{
	va_list arguments;

	/* The last line is ours, whatever the plug-in has printed. */
	fflush(stdout);
	fputs("HPM ERROR - ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return 1;
}

/* --- the plug-in ------------------------------------------------------------------------------ */

static void *open_shipped(const char *name)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;
	void *address;
	int (*address_of_open)(hpm_tree **) = hpm_tree_open;
	int length;

	memcpy(&address, &address_of_open, sizeof(address));
	if (strchr(name, '/') || !dladdr(address, &info) || !(slash = strrchr(info.dli_fname, '/')))
		return NULL;
	length = snprintf(path, sizeof(path), "%.*s/gnomon/plugins/%s%s",
			  (int)(slash - info.dli_fname), info.dli_fname, name,
			  strlen(name) > 3 && !strcmp(name + strlen(name) - 3, ".so") ? "" : ".so");
	if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* As libhpm does: the one that came with it, else what dlopen(3) finds. NULL: it was said. */
static void *open_plugin(const char *name)
{
	char longer[PATH_MAX], first[1024];
	const char *said;
	void *plugin = open_shipped(name);

	if (plugin)
		return plugin;
	plugin = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	if (plugin)
		return plugin;
	said = dlerror();
	snprintf(first, sizeof(first), "%s", said ? said : name);
	if (snprintf(longer, sizeof(longer), "%s.so", name) < (int)sizeof(longer))
		plugin = dlopen(longer, RTLD_NOW | RTLD_GLOBAL);
	if (!plugin)
		failed("Dynamic link error at dlopen():\n%s", first);
	return plugin;
}

static void *symbol_of(void *plugin, const char *name)
{
	void *symbol = dlsym(plugin, name);

	if (!symbol)
		failed("Dynamic link error at dlsym(): %s; a plug-in has the functions distributor "
		       "and aggregator",
		       dlerror());
	return symbol;
}

static const char *reason(int error)
{
	return error > 0 ? strerror(error) : "it returned a negative number";
}

/* --- the distributor -------------------------------------------------------------------------- */

/* Whether an entry of a list begins so. */
static int is_in(char *const *list, const char *entry, size_t length)
{
	for (; list && *list; list++)
		if (!strncmp(*list, entry, length))
			return 1;
	return 0;
}

/* Entries that are new or have another value, and names that are gone. */
static int write_changes(char *const *before)
{
	int error = 0;

	/* With the zero byte behind it: all of it. */
	for (char **now = environ; now && *now && !error; now++)
		if (strchr(*now, '=') && !is_in(before, *now, strlen(*now) + 1))
			error = gn_write_all(CHANGES_FD, *now, strlen(*now) + 1);
	for (; *before && !error; before++) {
		const size_t name = strcspn(*before, "=");

		if ((*before)[name] && !is_in(environ, *before, name + 1)) {
			error = gn_write_all(CHANGES_FD, *before, name);
			if (!error)
				error = gn_write_all(CHANGES_FD, "", 1);
		}
	}
	return error;
}

static char **copy_environment(void)
{
	size_t n = 0;
	char **copy;

	while (environ && environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(environ[i]);
		if (!copy[i])
			return NULL;
	}
	return copy;
}

static int distribute(const char *name)
{
	char **before = copy_environment();
	void *plugin = open_plugin(name), *symbol;
	distribute_function *function;
	int error;

	if (!plugin)
		return 1;
	if (!before)
		return failed("no memory for the environment; free some memory");
	symbol = symbol_of(plugin, "aggregator");
	if (symbol)
		symbol = symbol_of(plugin, "distributor");
	if (!symbol)
		return 1;
	memcpy(&function, &symbol, sizeof(function));
	error = function();
	if (error)
		return failed("the distributor failed: %s", reason(error));
	error = write_changes(before);
	return error ? failed("the distributor's changes cannot be passed on: %s", strerror(error))
		     : 0;
}

/* --- the aggregator --------------------------------------------------------------------------- */

static int read_all(int fd, unsigned char **bytes, size_t *size)
{
	size_t room = 0;

	*bytes = NULL;
	*size = 0;
	for (;;) {
		ssize_t got;

		if (room - *size < READ_SIZE) {
			unsigned char *larger;

			room = 2 * room + READ_SIZE;
			larger = room > 4 * HPM_ITEMS_BYTES_MAX ? NULL : realloc(*bytes, room);
			if (!larger)
				return ENOMEM;
			*bytes = larger;
		}
		got = read(fd, *bytes + *size, room - *size);
		if (got < 0 && errno != EINTR)
			return errno;
		if (!got)
			return 0;
		*size += got > 0 ? (size_t)got : 0;
	}
}

static int write_items(const struct hpm_items *items)
{
	unsigned char *bytes;
	size_t size;
	int error = hpm_items_write(items, &bytes, &size);

	if (error)
		return error;
	error = gn_write_all(output, bytes, size);
	free(bytes);
	return error;
}

static void hurry(int signal_number)
{
	(void)signal_number;
	hpm_job_hurry();
}

/* The program got these, too: what it measured is still to be told. */
static void be_patient(void)
{
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
	struct sigaction action = {.sa_handler = hurry, .sa_flags = SA_RESTART};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &action, NULL);
	/* hpmcount has them blocked until here. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
}

static int aggregate(const char *name)
{
	void *plugin = open_plugin(name), *symbol;
	aggregate_function *function;
	struct hpm_items items, aggregated;
	unsigned char *bytes;
	char why[256], outcome[64];
	size_t size;
	int error, is_print_task = 1;

	symbol = plugin ? symbol_of(plugin, "aggregator") : NULL;
	if (!symbol)
		return 1;
	memcpy(&function, &symbol, sizeof(function));
	error = read_all(STDIN_FILENO, &bytes, &size);
	if (error)
		return failed("the items cannot be read: %s", strerror(error));
	if (hpm_items_read(bytes, size, &items, NULL, why))
		return failed("standard input: %s", why);
	free(bytes);
	hpm_outcome(&items, outcome, sizeof(outcome));
	if (*outcome)
		setenv("HPM_JOB_OUTCOME", outcome, 1);
	/* Of what these items are, for one that keeps those of several programs apart. */
	setenv("HPM_AGGREGATE_PROGRAM", items.program ? items.program : "", 1);
	be_patient();
	aggregated = items;
	aggregated.n = 0;
	aggregated.item = NULL;
	error = function(items.n, items.item, &aggregated.n, &aggregated.item, &is_print_task);
	if (error)
		return failed("the aggregator failed: %s", reason(error));
	/* Nobody waits for this task any more, and the last one removes the job's directory. */
	hpm_job_end();
	if (!is_print_task)
		aggregated.n = 0;
	if (hpm_items_check(aggregated.n, aggregated.item, why))
		return failed("the aggregator returned invalid data: %s", why);
	error = gn_write_all(output, is_print_task ? "\1" : "\0", 1);
	if (!error)
		error = write_items(&aggregated);
	return error ? failed("the aggregator's results cannot be written: %s", strerror(error))
		     : 0;
}

/* --- replay ----------------------------------------------------------------------------------- */

static int print(const struct hpm_items *items, char *why)
{
	const int error = write_items(items);

	if (error)
		snprintf(why, HPM_REPLAY_WHY, "the aggregator's results cannot be written: %s",
			 strerror(error));
	return error;
}

static int replay(const char *name, int n_files, char *const *file)
{
	void *plugin = open_plugin(name);
	const hpm_reduction *reduction;
	char why[HPM_REPLAY_WHY];

	if (!plugin)
		return 1;
	reduction = dlsym(plugin, "hpm_reduction_of_plugin");
	if (!reduction)
		return failed("%s: it cannot be replayed over files: it is not a reduction "
			      "(hpm_reduction_of_plugin, see hpm_tree.h)",
			      name);
	if (hpm_replay(reduction, n_files, file, print, why))
		return failed("%s", why);
	return 0;
}

int main(int n_arguments, char **argument)
{
	const char *task = n_arguments > 2 ? argument[1] : "";
	int status;

	/* What plug-ins print must not get into what we write. */
	output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 64);
	if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return failed("standard output and error: %s", strerror(errno));
	if (!strcmp(task, "distribute") && n_arguments == 3)
		status = distribute(argument[2]);
	else if (!strcmp(task, "aggregate") && n_arguments == 3)
		status = aggregate(argument[2]);
	else if (!strcmp(task, "replay") && n_arguments > 3)
		status = replay(argument[2], n_arguments - 3, argument + 3);
	else
		return failed("usage: hpm-plugin-host distribute|aggregate PLUGIN, or replay "
			      "PLUGIN FILE...") +
		       1;
	fflush(NULL);
	/* What plug-ins have for the end of a program has cost nobody anything so far. */
	_exit(status);
}
