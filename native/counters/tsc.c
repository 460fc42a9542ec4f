/*
 * The processor's time counter, and the kernel's `msr` PMU over it.
 *
 * Source: arch/x86/events/msr.c. tsc:::cycles itself is no event of the kernel's: event sets of
 * libgnomon leave it to gn_real_cycles().
 */
#include <stdio.h>
#include <string.h>

#include "query.h"
#include "sysfs_pmu.h"

#define PREFIX "tsc:::"
#define MSR "msr"
#define DESCRIPTION "ticks of the register while the thread runs"

static int resolve_own(const struct gn_query *query)
{
	char own[][GN_NAME_MAX] = {PREFIX "cycles"};

	if (!strcmp(query->name, own[0])) {
		gn_error_unavailable(
			query->why, GN_ECMP, 0, query->name,
			"it is not an event of the kernel, as C event sets and sections need");
		return gn_error_remedy(query->why,
				       "call gn_real_cycles() before and after, or use hpmcount");
	}
	gn_error_event(query->why, GN_ENOEVNT, query->name, "component tsc has no such event");
	return gn_error_suggest(query->why, 1, own);
}

int gn_tsc_resolve(struct gn_query *query)
{
	const char *sysfs = query->places->sysfs;
	struct gn_event_spec spec;
	struct gn_terms terms;
	struct gn_event *event;
	struct gn_pmu pmu;
	int status;

	if (!strncmp(query->name, PREFIX, strlen(PREFIX)))
		return resolve_own(query);
	status = gn_terms(query->base, &terms, query->why);
	if (status < 0)
		return status;
	if (!status || strcmp(terms.pmu, MSR) || !gn_pmu_find(sysfs, MSR, &pmu))
		return GN_OK;
	if (query->modifiers.exclude) {
		gn_error_event(query->why, GN_ENOEVNT, query->name,
			       "the msr PMU counts in every mode");
		return gn_error_remedy(query->why, "omit the modifier");
	}
	status = gn_pmu_encode(sysfs, &pmu, query->name, &terms, &spec, query->why);
	if (status)
		return status;
	/* The PMU refuses to leave anything out: no set's domain is put on the event. */
	status =
		gn_query_native(query, query->name, query->base, DESCRIPTION, GN_COMPONENT_TSC,
				&spec, GN_EVENT_HARDWARE | GN_EVENT_EVERY_MODE | GN_EVENT_MODIFIED);
	if (status)
		return status;
	event = query->out[query->n - 1];
	event->scale = gn_pmu_unit(sysfs, MSR, terms.term[0].key, event->unit, sizeof(event->unit));
	return GN_OK;
}

int gn_tsc_each(const struct gn_places *places, gn_event_seen *seen, void *context)
{
	struct gn_names names;
	struct gn_pmu pmu;
	int stop = 0;

	if (!gn_pmu_find(places->sysfs, MSR, &pmu))
		return 0;
	gn_pmu_events(places->sysfs, MSR, &names);
	for (size_t i = 0; !stop && i < names.n; i++) {
		char name[GN_NAME_MAX + 8], unit[16];

		gn_pmu_unit(places->sysfs, MSR, names.name[i], unit, sizeof(unit));
		snprintf(name, sizeof(name), MSR "/%s/", names.name[i]);
		stop = seen(context, name, unit, DESCRIPTION);
	}
	gn_names_free(&names);
	return stop;
}
