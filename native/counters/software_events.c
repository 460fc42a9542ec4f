/*
 * Events of the kernel itself: software events and tracepoints.
 *
 * Source: perf_event_open(2) (PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT);
 * Documentation/trace/events.rst.
 */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query.h"
#include "read_file.h"

static const struct software {
	const char *name;
	const char *enumerator; /* PERF_COUNT_SW_... */
	uint64_t config;
	const char *unit;
	unsigned int flags;
	const char *description;
} events[] = {
	{"task-clock", "TASK_CLOCK", PERF_COUNT_SW_TASK_CLOCK, "ns", GN_EVENT_EVERY_MODE,
	 "time on a CPU, summed over threads"},
	{"cpu-clock", "CPU_CLOCK", PERF_COUNT_SW_CPU_CLOCK, "ns", GN_EVENT_EVERY_MODE,
	 "time on a CPU by the CPU's high-resolution timer"},
	{"context-switches", "CONTEXT_SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES, "",
	 GN_EVENT_KERNEL_ONLY, "switches from one thread to another (also cs)"},
	{"cpu-migrations", "CPU_MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, "", GN_EVENT_KERNEL_ONLY,
	 "moves of a thread to another CPU (also migrations)"},
	{"page-faults", "PAGE_FAULTS", PERF_COUNT_SW_PAGE_FAULTS, "", 0,
	 "minor and major page faults (also faults)"},
	{"minor-faults", "PAGE_FAULTS_MIN", PERF_COUNT_SW_PAGE_FAULTS_MIN, "", 0,
	 "page faults served without the disk"},
	{"major-faults", "PAGE_FAULTS_MAJ", PERF_COUNT_SW_PAGE_FAULTS_MAJ, "", 0,
	 "page faults that had to wait for the disk"},
	{"alignment-faults", "ALIGNMENT_FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS, "", 0,
	 "unaligned accesses that the kernel mended"},
	{"emulation-faults", "EMULATION_FAULTS", PERF_COUNT_SW_EMULATION_FAULTS, "", 0,
	 "instructions that the kernel emulated"},
	/* PERF_COUNT_SW_CGROUP_SWITCHES, which headers before Linux 5.13 lack */
	{"cgroup-switches", "CGROUP_SWITCHES", 11, "", GN_EVENT_KERNEL_ONLY,
	 "context switches into another cgroup"},
};

static const char *const aliases[][2] = {
	{"cs", "context-switches"},
	{"migrations", "cpu-migrations"},
	{"faults", "page-faults"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* libpfm4's names, whose PMU for these events is `perf`, and so PAPI's; in any case. */
static const struct software *by_libpfm(const char *name)
{
	static const char prefix[] = "PERF_COUNT_SW_";

	for (size_t i = 0; i < COUNT(aliases); i++)
		if (!strcasecmp(name, aliases[i][0]))
			name = aliases[i][1];
	for (size_t i = 0; i < COUNT(events); i++) {
		if (!strcasecmp(name, events[i].name) ||
		    (!strncasecmp(name, prefix, strlen(prefix)) &&
		     !strcasecmp(name + strlen(prefix), events[i].enumerator)))
			return &events[i];
	}
	return NULL;
}

static const struct software *software(const char *name)
{
	if (!strncasecmp(name, "perf::", 6))
		return by_libpfm(name + 6);
	for (size_t i = 0; i < COUNT(aliases); i++)
		if (!strcmp(name, aliases[i][0]))
			name = aliases[i][1];
	for (size_t i = 0; i < COUNT(events); i++)
		if (!strcmp(name, events[i].name))
			return &events[i];
	return NULL;
}

unsigned int gn_kernel_flags(const char *name)
{
	const struct software *known = software(name);

	return known ? known->flags : GN_EVENT_TRACEPOINT;
}

static int add_software(struct gn_query *query, const struct software *software)
{
	struct gn_event_spec spec = {.type = PERF_TYPE_SOFTWARE, .config = software->config};
	int failed;

	failed = gn_query_native(query, query->name, software->name, software->description,
				 GN_COMPONENT_KERNEL, &spec, software->flags);
	if (!failed)
		snprintf(query->out[query->n - 1]->unit, sizeof(query->out[0]->unit), "%s",
			 software->unit);
	return failed;
}

/* Where tracefs is: the two usual places, then where else it is mounted. */
struct tracefs {
	char path[GN_PATH_MAX];
	int error; /* a negative errno of the first place that is there and cannot be read */
	char unreadable[256];
};

static const char *const usual[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static int is_readable(struct tracefs *tracefs, const char *path)
{
	const int has_events = gn_has_names("%s/events", path);

	if (has_events > 0) {
		snprintf(tracefs->path, sizeof(tracefs->path), "%s", path);
		return 1;
	}
	if (has_events < 0 && has_events != -ENOENT && !tracefs->error) {
		tracefs->error = has_events;
		snprintf(tracefs->unreadable, sizeof(tracefs->unreadable), "%s", path);
	}
	return 0;
}

static int is_mounted(struct tracefs *tracefs)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[GN_PATH_MAX];
	int is_found = 0;

	if (!mounts)
		return 0;
	while (!is_found && getmntent_r(mounts, &entry, line, sizeof(line)))
		is_found =
			!strcmp(entry.mnt_type, "tracefs") && is_readable(tracefs, entry.mnt_dir);
	endmntent(mounts);
	return is_found;
}

static int find_tracefs(const struct gn_places *places, struct tracefs *tracefs)
{
	memset(tracefs, 0, sizeof(*tracefs));
	if (places->tracefs)
		return is_readable(tracefs, places->tracefs);
	for (size_t i = 0; i < COUNT(usual); i++)
		if (is_readable(tracefs, usual[i]))
			return 1;
	return is_mounted(tracefs);
}

/* PMU events have capitals or come with their PMU's name; tracepoints are lower case. */
static int is_lower(const char *text)
{
	int letters = 0;

	for (; *text; text++) {
		if (*text >= 'A' && *text <= 'Z')
			return 0;
		letters |= *text >= 'a' && *text <= 'z';
	}
	return letters;
}

static int is_forbidden(int error)
{
	return error == -EACCES || error == -EPERM;
}

static int no_tracefs(const struct gn_query *query, const struct tracefs *tracefs)
{
	if (!tracefs->error) {
		gn_error_unavailable(query->why, GN_ENOEVNT, 0, query->name,
				     "tracefs is not mounted");
		return gn_error_remedy(query->why, "as root: mount -t tracefs tracefs %s",
				       query->places->tracefs ? query->places->tracefs : usual[0]);
	}
	gn_error_unavailable(query->why, is_forbidden(tracefs->error) ? GN_EPERM : GN_ESYS,
			     -tracefs->error, query->name, "%s cannot be read (%s)",
			     tracefs->unreadable, strerror(-tracefs->error));
	return gn_error_remedy(query->why, "as root: mount -o remount,mode=755 %s (or run as root)",
			       tracefs->unreadable);
}

static int no_such_tracepoint(const struct gn_query *query, const char *root, const char *system,
			      const char *point)
{
	struct gn_nearest nearest;
	struct gn_names names;

	gn_nearest_begin(&nearest, point);
	gn_names_in(&names, "%s/events/%s", root, system);
	for (size_t i = 0; i < names.n; i++)
		gn_nearest_try(&nearest, names.name[i]);
	gn_names_free(&names);
	for (int i = 0; i < nearest.n; i++) {
		char full[2 * GN_NAME_MAX];

		snprintf(full, sizeof(full), "%s:%s", system, nearest.name[i]);
		snprintf(nearest.name[i], sizeof(nearest.name[i]), "%.*s", GN_NAME_MAX - 1, full);
	}
	gn_error_event(query->why, GN_ENOEVNT, query->name,
		       "the kernel has no such tracepoint in '%s'", system);
	return gn_nearest_suggest(&nearest, query->why, "`gnomon events` lists those it has");
}

static int add_tracepoint(struct gn_query *query, const char *root, const char *system,
			  const char *point, const char *label)
{
	struct gn_event_spec spec = {.type = PERF_TYPE_TRACEPOINT};
	char text[64], native[2 * GN_NAME_MAX];
	const int length =
		gn_file_text(text, sizeof(text), "%s/events/%s/%s/id", root, system, point);

	if (length == -ENOENT || length == -ENOTDIR)
		return no_such_tracepoint(query, root, system, point);
	if (is_forbidden(length)) {
		gn_error_unavailable(query->why, GN_EPERM, -length, query->name,
				     "%s may only be read by root", root);
		return gn_error_remedy(
			query->why, "as root: mount -o remount,mode=755 %s (or run as root)", root);
	}
	if (length <= 0 || text[strspn(text, "0123456789")] || length > 19) {
		gn_error_unavailable(query->why, GN_ESYS, length < 0 ? -length : 0, query->name,
				     "its id in %s cannot be read (%s)", root,
				     length < 0 ? strerror(-length) : "not a number");
		return gn_error_remedy(query->why, "see gnomon doctor");
	}
	spec.config = strtoull(text, NULL, 10);
	snprintf(native, sizeof(native), "%s:%s", system, point);
	return gn_query_native(query, label, native, "tracepoint", GN_COMPONENT_KERNEL, &spec,
			       GN_EVENT_TRACEPOINT);
}

static int add_matching(struct gn_query *query, const char *root, const char *system,
			const char *pattern)
{
	struct gn_names names;
	int failed = 0;

	gn_names_in(&names, "%s/events/%s", root, system);
	for (size_t i = 0; !failed && i < names.n; i++) {
		char label[2 * GN_NAME_MAX];

		if (!gn_matches(names.name[i], pattern) ||
		    !gn_file_exists("%s/events/%s/%s/id", root, system, names.name[i]))
			continue;
		snprintf(label, sizeof(label), "%s:%s", system, names.name[i]);
		failed = add_tracepoint(query, root, system, names.name[i],
					strcmp(names.name[i], pattern) ? label : query->name);
	}
	gn_names_free(&names);
	if (!failed && !query->n) {
		gn_error_event(query->why, GN_ENOEVNT, query->name,
			       "no tracepoint of '%s' matches '%s'", system, pattern);
		return gn_error_remedy(query->why, "`gnomon events` lists those there are");
	}
	return failed;
}

int gn_kernel_resolve(struct gn_query *query)
{
	const struct software *event = software(query->base);
	char system[GN_NAME_MAX];
	struct tracefs tracefs;
	char *point;

	if (event)
		return add_software(query, event);
	snprintf(system, sizeof(system), "%s", query->base);
	point = strchr(system, ':');
	if (!point || point == system || !point[1] || strchr(point + 1, ':') || strchr(system, '/'))
		return GN_OK;
	*point++ = '\0';
	if (!find_tracefs(query->places, &tracefs))
		return is_lower(query->base) ? no_tracefs(query, &tracefs) : GN_OK;
	if (*system == '.' || !gn_is_folder("%s/events/%s", tracefs.path, system))
		return GN_OK;
	if (strpbrk(point, "*?["))
		return add_matching(query, tracefs.path, system, point);
	return add_tracepoint(query, tracefs.path, system, point, query->name);
}

static int each_tracepoint(const char *root, gn_event_seen *seen, void *context)
{
	struct gn_names systems;
	int stop = 0;

	gn_names_in(&systems, "%s/events", root);
	for (size_t i = 0; !stop && i < systems.n; i++) {
		struct gn_names points;

		gn_names_in(&points, "%s/events/%s", root, systems.name[i]);
		for (size_t j = 0; !stop && j < points.n; j++) {
			char name[2 * GN_NAME_MAX + 2];

			if (!gn_file_exists("%s/events/%s/%s/id", root, systems.name[i],
					    points.name[j]))
				continue;
			snprintf(name, sizeof(name), "%s:%s", systems.name[i], points.name[j]);
			stop = seen(context, name, "", "tracepoint");
		}
		gn_names_free(&points);
	}
	gn_names_free(&systems);
	return stop;
}

int gn_kernel_each(const struct gn_places *places, gn_event_seen *seen, void *context)
{
	struct tracefs tracefs;

	for (size_t i = 0; i < COUNT(events); i++) {
		const int stop =
			seen(context, events[i].name, events[i].unit, events[i].description);

		if (stop)
			return stop;
	}
	return find_tracefs(places, &tracefs) ? each_tracepoint(tracefs.path, seen, context) : 0;
}
