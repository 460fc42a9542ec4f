/* The events of each component of this machine, listed once. */
#ifndef GNOMON_COUNTERS_LISTED_EVENTS_H
#define GNOMON_COUNTERS_LISTED_EVENTS_H

#include "query.h"

/* An event of a list. */
struct gn_listed {
	char *name;
	char *description;
	char unit[16];
};

struct gn_list {
	int is_made;
	int n;
	int room;
	struct gn_listed *event;
};

/* The events of a component, listed at the first call; NULL: out of memory. Locks. */
const struct gn_list *gn_list_of(int component);

#endif
