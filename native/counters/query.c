/* Events on their way from a name to a set. */
#include "query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs_pmu.h"

const struct gn_places gn_this_machine = {.sysfs = GN_SYSFS};

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

int gn_name_too_long(struct gn_error_text *why, const char *name)
{
	char start[72];

	snprintf(start, sizeof(start), "%.64s...", name);
	gn_error_event(why, GN_EINVAL, start, "its name has more than %d letters", GN_NAME_MAX - 1);
	return gn_error_remedy(why, "use a shorter one");
}

int gn_query_native(struct gn_query *query, const char *label, const char *native,
		    const char *description, enum gn_component component,
		    const struct gn_event_spec *spec, unsigned int flags)
{
	struct gn_event *event;

	if (strlen(label) >= GN_NAME_MAX)
		return gn_name_too_long(query->why, label);
	event = gn_event_new(1, 0);
	if (!event)
		return gn_error_memory(query->why, query->name);
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

int gn_query_answer(const struct gn_places *places, const char *name, gn_source *source,
		    struct gn_event **out, int max, int *n, struct gn_error_text *why)
{
	struct gn_query query = {
		.places = places, .name = name, .out = out, .max = max, .why = why};
	int failed;

	*n = 0;
	if (strnlen(name, GN_NAME_MAX) == GN_NAME_MAX)
		return gn_name_too_long(why, name);
	failed = gn_modifiers(name, query.base, &query.modifiers, why);
	if (!failed)
		failed = source(&query);
	if (failed)
		gn_query_drop(&query);
	*n = query.n;
	return failed;
}

void gn_query_drop(struct gn_query *query)
{
	for (int i = 0; i < query->n; i++) {
		gn_event_free(query->out[i]);
		query->out[i] = NULL;
	}
	query->n = 0;
}
