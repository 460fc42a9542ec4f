/* Lists of events, which take longer to make than to look through. */
#include "listed_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"

static struct gn_list lists[GN_COMPONENTS];

/* Names that are longer than what gn_set_add() takes are left out. */
static int add(void *context, const char *name, const char *unit, const char *description)
{
	struct gn_list *list = context;
	struct gn_listed *event;

	if (strlen(name) >= GN_NAME_MAX)
		return 0;
	if (list->n == list->room) {
		const int room = list->room ? 2 * list->room : 256;
		struct gn_listed *grown = realloc(list->event, (size_t)room * sizeof(*grown));

		if (!grown)
			return -1;
		list->event = grown;
		list->room = room;
	}
	event = &list->event[list->n];
	event->name = strdup(name);
	event->description = strdup(description);
	snprintf(event->unit, sizeof(event->unit), "%s", unit);
	if (!event->name || !event->description) {
		free(event->name);
		free(event->description);
		return -1;
	}
	list->n++;
	return 0;
}

static void drop(struct gn_list *list)
{
	for (int i = 0; i < list->n; i++) {
		free(list->event[i].name);
		free(list->event[i].description);
	}
	free(list->event);
	memset(list, 0, sizeof(*list));
}

const struct gn_list *gn_list_of(int component)
{
	struct gn_list *list = &lists[component];

	gn_lock(GN_LOCK_LISTS);
	if (!list->is_made &&
	    gn_component_each(&gn_this_machine, (enum gn_component)component, add, list)) {
		drop(list);
		gn_unlock(GN_LOCK_LISTS);
		return NULL;
	}
	list->is_made = 1;
	gn_unlock(GN_LOCK_LISTS);
	return list;
}

int gn_listed_each(const struct gn_places *places, enum gn_component component, gn_event_seen *seen,
		   void *context)
{
	const struct gn_list *list = places == &gn_this_machine ? gn_list_of((int)component) : NULL;
	int stop = 0;

	if (!list)
		return gn_component_each(places, component, seen, context);
	for (int i = 0; !stop && i < list->n; i++)
		stop = seen(context, list->event[i].name, list->event[i].unit,
			    list->event[i].description);
	return stop;
}
