/* What the sources of events share while a name is resolved. */
#ifndef GNOMON_COUNTERS_QUERY_H
#define GNOMON_COUNTERS_QUERY_H

#include "event_grammar.h"
#include "event_resolver.h"

/* Where the kernel describes itself; other trees than this machine's are for tests. */
struct gn_places {
	const char *sysfs;
	const char *tracefs; /* NULL: where it is mounted */
	const char *models;  /* "cpu_core=adl_glc,cpu_atom=adl_grt"; NULL: as libpfm4 finds them */
};

extern const struct gn_places gn_this_machine;

enum gn_component {
	GN_COMPONENT_CPU,
	GN_COMPONENT_KERNEL,
	GN_COMPONENT_TSC,
	GN_COMPONENTS,
};

/* A name on its way from one source of events to the next. */
struct gn_query {
	const struct gn_places *places;
	const char *name;	       /* as typed */
	char base[GN_NAME_MAX];	       /* without the modifiers */
	struct gn_modifiers modifiers; /* what those mean */
	char elsewhere[128];	       /* the PMU that counts it, if another component has that */
	struct gn_event **out;	       /* found[max]; n of them so far */
	int max;
	int n;
	struct gn_error_text *why;
	/* Called with each kind of core that has no such preset, and why; NULL: nobody asks. */
	void (*lacks)(void *context, const char *label, const struct gn_error_text *why);
	void *context;
};

/*
 * A source's answer: GN_OK, with query->n still 0 where the name is not its own, or a GN_E* for a
 * name that is plainly its own, but wrong.
 */
typedef int gn_source(struct gn_query *query);

gn_source gn_kernel_resolve, gn_tsc_resolve, gn_cpu_resolve, gn_preset_resolve;

/* The same of all sources but the presets; GN_OK with n still 0: nobody's. */
int gn_native_resolve(struct gn_query *query);

/* Refuses an event of a component that the program has left out; GN_OK: it is none. */
int gn_disabled_resolve(struct gn_query *query);

/* The component that is asked first, second ...: its name and number. */
const char *gn_source_name(int index);
enum gn_component gn_source_component(int index);

/* The source that is a component, used or not; NULL for a number that is none. */
gn_source *gn_source_of(int component);

/*
 * Takes the modifiers off a name and asks a source for it. On failure nothing is in `out`; GN_OK
 * with *n still 0: the name is not the source's own.
 */
int gn_query_answer(const struct gn_places *places, const char *name, gn_source *source,
		    struct gn_event **out, int max, int *n, struct gn_error_text *why);

/* Refuses a name that is too long; GN_EINVAL. */
int gn_name_too_long(struct gn_error_text *why, const char *name);

/* A new event of `natives` native ones and a program of `ops` steps; NULL: out of memory. */
struct gn_event *gn_event_new(int natives, int ops);

/* Adds an event to what the query found. On failure the event is freed. */
int gn_query_add(struct gn_query *query, struct gn_event *event);

/*
 * An event that is one native event, with the query's modifiers. The description stays where it is.
 */
int gn_query_native(struct gn_query *query, const char *label, const char *native,
		    const char *description, enum gn_component component,
		    const struct gn_event_spec *spec, unsigned int flags);

/* The component that counts a name, if it is one that Python alone counts; else NULL. */
const char *gn_other_component(const struct gn_query *query);

/* Adds the names of those components. */
void gn_other_components_near(struct gn_nearest *nearest);

/* gn_nearest_try() as one that sees events. */
int gn_nearest_see(void *nearest, const char *name, const char *unit, const char *description);

/* Forgets what was found. */
void gn_query_drop(struct gn_query *query);

/* Resolves with the parts of a machine at the given places. */
int gn_resolve_at(const struct gn_places *places, const char *name, struct gn_event **out, int max,
		  int *n, struct gn_error_text *why);

/* Called with every event of a source: name, unit and description. Returns 0 to go on. */
typedef int gn_event_seen(void *context, const char *name, const char *unit,
			  const char *description);

int gn_kernel_each(const struct gn_places *places, gn_event_seen *seen, void *context);
int gn_tsc_each(const struct gn_places *places, gn_event_seen *seen, void *context);
int gn_cpu_each(const struct gn_places *places, gn_event_seen *seen, void *context);
int gn_component_each(const struct gn_places *places, enum gn_component component,
		      gn_event_seen *seen, void *context);

/* The same; this machine's events are listed once, and from then on taken from that list. */
int gn_listed_each(const struct gn_places *places, enum gn_component component, gn_event_seen *seen,
		   void *context);

/*
 * Whether a component was not disabled. From the first call on none can be: what has been looked
 * up would change its meaning.
 */
int gn_component_is_used(int component);

/* The event that tells whether a component works. */
const char *gn_component_trial(int component);

/* Leaves a component out: 1, or 0 if it is too late. */
int gn_component_leave_out(int component);
int gn_component_is_left_out(int component);

/* enum gn_event_flags of a software event or, for any other name, of a tracepoint. */
unsigned int gn_kernel_flags(const char *name);

/* The same of an event of any component's list. */
unsigned int gn_listed_flags(int component, const char *name);

#endif
