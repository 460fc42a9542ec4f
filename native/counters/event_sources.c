/* The components that C counts: who is asked for a name, and in which order. */
#include <stddef.h>

#include "query.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In the order in which they are asked. */
static const struct {
	enum gn_component component;
	const char *name;
	gn_source *resolve;
} sources[GN_COMPONENTS] = {
	{GN_COMPONENT_KERNEL, "kernel", gn_kernel_resolve},
	{GN_COMPONENT_TSC, "tsc", gn_tsc_resolve},
	{GN_COMPONENT_CPU, "cpu", gn_cpu_resolve},
};

const char *gn_source_name(int index)
{
	return sources[index].name;
}

enum gn_component gn_source_component(int index)
{
	return sources[index].component;
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
int gn_disabled_resolve(struct gn_query *query)
{
	for (size_t i = 0; i < COUNT(sources); i++) {
		if (gn_component_is_used(sources[i].component) || sources[i].resolve(query) ||
		    !query->n)
			continue;
		gn_query_drop(query);
		gn_error_event(query->why, GN_ENOCMP, query->name,
			       "the program has disabled component %s", sources[i].name);
		return gn_error_remedy(query->why, "do not call gn_component_disable()");
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

gn_source *gn_source_of(int component)
{
	for (size_t i = 0; i < COUNT(sources); i++)
		if ((int)sources[i].component == component)
			return sources[i].resolve;
	return NULL;
}
