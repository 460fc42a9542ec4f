/* From names as people type them to events that can be opened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_codes.h"
#include "libpfm.h"
#include "presets.h"
#include "query.h"
#include "sysfs_pmu.h"

const struct gn_places gn_this_machine = {.sysfs = GN_SYSFS};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In the order in which they are asked. */
static const struct {
	enum gn_component component;
	const char *name;
	int (*resolve)(struct gn_query *);
} sources[GN_COMPONENTS] = {
	{GN_COMPONENT_KERNEL, "kernel", gn_kernel_resolve},
	{GN_COMPONENT_TSC, "tsc", gn_tsc_resolve},
	{GN_COMPONENT_CPU, "cpu", gn_cpu_resolve},
};

/* Strings of the native events' names come last in the allocation. */
struct gn_event *gn_event_new(int natives, int ops)
{
	const size_t n = (size_t)natives, steps = (size_t)ops;
	const size_t size = sizeof(struct gn_event) +
			    n * (sizeof(struct gn_event_spec) + sizeof(int64_t) + sizeof(char *) +
				 GN_NAME_MAX) +
			    steps * sizeof(struct gn_op);
	struct gn_event *event = calloc(1, size);
	char *names;

	if (!event)
		return NULL;
	event->n = natives;
	event->ops = ops;
	event->scale = 1;
	event->spec = (struct gn_event_spec *)(event + 1);
	event->factor = (int64_t *)(event->spec + n);
	event->op = (struct gn_op *)(event->factor + n);
	event->native = (char **)(event->op + steps);
	names = (char *)(event->native + n);
	for (size_t i = 0; i < n; i++) {
		event->factor[i] = 1;
		event->native[i] = names + i * GN_NAME_MAX;
	}
	return event;
}

void gn_event_free(struct gn_event *event)
{
	free(event);
}

int gn_query_add(struct gn_query *query, struct gn_event *event)
{
	if (query->n < query->max) {
		query->out[query->n++] = event;
		return GN_OK;
	}
	gn_event_free(event);
	gn_error_event(query->why, GN_ECOUNT, query->name, "it stands for more than %d events",
		       query->max);
	return gn_error_remedy(query->why, "name them one by one");
}

static int too_long(struct gn_error_text *why, const char *name)
{
	char start[72];

	snprintf(start, sizeof(start), "%.64s...", name);
	gn_error_event(why, GN_EINVAL, start, "its name has more than %d letters", GN_NAME_MAX - 1);
	return gn_error_remedy(why, "take a shorter one");
}

int gn_query_native(struct gn_query *query, const char *label, const char *native,
		    const char *description, enum gn_component component,
		    const struct gn_event_spec *spec, unsigned int flags)
{
	struct gn_event *event;

	if (strlen(label) >= GN_NAME_MAX)
		return too_long(query->why, label);
	event = gn_event_new(1, 0);
	if (!event)
		return gn_error_set(query->why, GN_ENOMEM, "event '%s': out of memory; free some",
				    query->name);
	snprintf(event->name, sizeof(event->name), "%s", label);
	event->description = description;
	snprintf(event->native[0], GN_NAME_MAX, "%s", native);
	event->component = component;
	event->spec[0] = *spec;
	event->spec[0].exclude |= query->modifiers.exclude;
	event->domain = flags & GN_EVENT_EVERY_MODE ? 0 : query->modifiers.domain;
	event->flags = flags | (event->domain ? GN_EVENT_MODIFIED : 0);
	return gn_query_add(query, event);
}

void gn_query_drop(struct gn_query *query)
{
	for (int i = 0; i < query->n; i++) {
		gn_event_free(query->out[i]);
		query->out[i] = NULL;
	}
	query->n = 0;
}

int gn_component_each(const struct gn_places *places, enum gn_component component,
		      gn_event_seen *seen, void *context)
{
	switch (component) {
	case GN_COMPONENT_CPU:
		return gn_cpu_each(places, seen, context);
	case GN_COMPONENT_KERNEL:
		return gn_kernel_each(places, seen, context);
	case GN_COMPONENT_TSC:
		return gn_tsc_each(places, seen, context);
	default:
		return 0;
	}
}

static int in_other_component(struct gn_query *query, const char *component)
{
	gn_error_unavailable(query->why, GN_ENOCMP, 0, query->name,
			     "Gnomon's C libraries do not count component '%s'", component);
	return gn_error_remedy(query->why,
			       "use hpmcount, `gnomon count` or Python (gnomon.counters)");
}

static int unknown_prefix(struct gn_query *query, size_t length)
{
	char prefix[GN_NAME_MAX];
	struct gn_nearest nearest;

	snprintf(prefix, sizeof(prefix), "%.*s", (int)length, query->name);
	for (size_t i = 0; i < COUNT(sources); i++) {
		if (strcmp(prefix, sources[i].name))
			continue;
		gn_error_event(query->why, GN_ENOEVNT, query->name,
			       "component '%s' has no event of that name", prefix);
		return gn_error_remedy(query->why,
				       "`gnomon events --component %s` lists those it has", prefix);
	}
	gn_nearest_begin(&nearest, prefix);
	for (size_t i = 0; i < COUNT(sources); i++)
		gn_nearest_try(&nearest, sources[i].name);
	gn_other_components_near(&nearest);
	gn_error_event(query->why, GN_ENOCMP, query->name, "there is no component '%s'", prefix);
	return gn_nearest_suggest(&nearest, query->why, "`gnomon components` lists them");
}

static int unknown_pmu(struct gn_query *query, const char *pmu)
{
	struct gn_nearest nearest;
	struct gn_pmu *pmus;
	const int n = gn_pmus(query->places->sysfs, &pmus);

	gn_nearest_begin(&nearest, pmu);
	for (int i = 0; i < n; i++)
		gn_nearest_try(&nearest, pmus[i].name);
	free(pmus);
	gn_error_event(query->why, GN_ENOEVNT, query->name, "this machine has no PMU '%s'", pmu);
	return gn_nearest_suggest(&nearest, query->why, "`gnomon events` lists what is here");
}

static int unknown(struct gn_query *query)
{
	const char *colons = strstr(query->name, ":::"), *problem;
	const char *other = gn_other_component(query);
	struct gn_nearest nearest;
	struct gn_terms terms;
	int has_libpfm;

	if (*query->elsewhere) {
		gn_error_unavailable(query->why, GN_ENOCMP, 0, query->name,
				     "libgnomon counts cores and the kernel, not %s",
				     query->elsewhere);
		return gn_error_remedy(query->why,
				       "use `gnomon count` or Python's gnomon.counters");
	}
	if (other)
		return in_other_component(query, other);
	if (colons)
		return unknown_prefix(query, (size_t)(colons - query->name));
	if (gn_terms(query->name, &terms, query->why) > 0)
		return unknown_pmu(query, terms.pmu);
	if (strchr(query->name, ',')) {
		gn_error_event(query->why, GN_ENOEVNT, query->name, "no event has such a name");
		return gn_error_remedy(query->why,
				       "give a list to gn_set_add_all name by name, or put it in "
				       "braces to be counted at the same time");
	}
	gn_nearest_begin(&nearest, query->name);
	gn_preset_each(gn_nearest_see, &nearest);
	for (size_t i = 0; i < COUNT(sources); i++)
		gn_listed_each(query->places, sources[i].component, gn_nearest_see, &nearest);
	/* Most events of a CPU only libpfm4 knows. */
	has_libpfm = gn_pfm(&problem) != NULL;
	gn_error_event(query->why, GN_ENOEVNT, query->name,
		       "no event, preset or tracepoint of that name%s",
		       has_libpfm || nearest.n ? ""
					       : " (without libpfm4, which knows those of CPUs)");
	return gn_nearest_suggest(&nearest, query->why,
				  has_libpfm ? "`gnomon events` lists those there are"
					     : "install it (Debian: apt-get install libpfm4)");
}

int gn_native_resolve(struct gn_query *query)
{
	for (size_t i = 0; i < COUNT(sources); i++) {
		int failed;

		if (!gn_component_is_used(sources[i].component))
			continue;
		failed = sources[i].resolve(query);
		if (failed || query->n)
			return failed;
	}
	return GN_OK;
}

/* An event of a component that the program has left out. */
static int in_disabled_component(struct gn_query *query)
{
	for (size_t i = 0; i < COUNT(sources); i++) {
		if (gn_component_is_used(sources[i].component) || sources[i].resolve(query) ||
		    !query->n)
			continue;
		gn_query_drop(query);
		gn_error_event(query->why, GN_ENOCMP, query->name,
			       "the program has disabled component %s", sources[i].name);
		return gn_error_remedy(query->why, "leave gn_component_disable() out");
	}
	return GN_OK;
}

unsigned int gn_listed_flags(int component, const char *name)
{
	if (component == GN_COMPONENT_CPU)
		return GN_EVENT_HARDWARE;
	if (component == GN_COMPONENT_TSC)
		return GN_EVENT_HARDWARE | GN_EVENT_EVERY_MODE | GN_EVENT_MODIFIED;
	return gn_kernel_flags(name);
}

static int ask_sources(struct gn_query *query)
{
	int failed = gn_component_is_used(GN_COMPONENT_CPU) ? gn_preset_resolve(query) : GN_OK;

	if (!failed && !query->n)
		failed = gn_native_resolve(query);
	if (!failed && !query->n)
		failed = in_disabled_component(query);
	if (!failed && !query->n)
		failed = unknown(query);
	return failed;
}

int gn_resolve_at(const struct gn_places *places, const char *name, struct gn_event **out, int max,
		  int *n, struct gn_error_text *why)
{
	struct gn_query query = {
		.places = places, .name = name, .out = out, .max = max, .why = why};
	int failed;

	*n = 0;
	if (strnlen(name, GN_NAME_MAX) == GN_NAME_MAX)
		return too_long(why, name);
	failed = gn_modifiers(name, query.base, &query.modifiers, why);
	if (!failed)
		failed = ask_sources(&query);
	if (!failed)
		failed = gn_codes_of(&query);
	if (failed)
		gn_query_drop(&query);
	*n = query.n;
	return failed;
}

int gn_resolve_in(const struct gn_places *places, enum gn_component component, const char *name,
		  struct gn_event **out, int max, int *n, struct gn_error_text *why)
{
	struct gn_query query = {
		.places = places, .name = name, .out = out, .max = max, .why = why};
	int failed;

	*n = 0;
	if (strnlen(name, GN_NAME_MAX) == GN_NAME_MAX)
		return too_long(why, name);
	failed = gn_modifiers(name, query.base, &query.modifiers, why);
	for (size_t i = 0; !failed && i < COUNT(sources); i++)
		if (sources[i].component == component)
			failed = sources[i].resolve(&query);
	if (failed)
		gn_query_drop(&query);
	*n = query.n;
	return failed;
}

int gn_resolve(const char *name, struct gn_event **out, int max, int *n, struct gn_error_text *why)
{
	return gn_resolve_at(&gn_this_machine, name, out, max, n, why);
}
