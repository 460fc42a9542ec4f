/*
 * What names mean, remembered: sets are made and ended in loops, and to find a name takes longer
 * than to open its event. What is remembered is never changed, and shared by all sets.
 */
#ifndef GNOMON_COUNTERS_RESOLVE_CACHE_H
#define GNOMON_COUNTERS_RESOLVE_CACHE_H

#include "event_resolver.h"

struct gn_resolved {
	_Atomic int users;
	int n;
	struct gn_event *event[];
};

/* GN_OK and what the name means, to be left when it is no longer needed; or a GN_E* and why. */
int gn_resolved_name(const char *name, struct gn_resolved **resolved, struct gn_error_text *why);
int gn_resolved_code(uint32_t code, struct gn_resolved **resolved, struct gn_error_text *why);

void gn_resolved_take(struct gn_resolved *resolved);
void gn_resolved_leave(struct gn_resolved *resolved);

/* Names may mean something else from now on. */
void gn_resolved_forget(void);

#endif
