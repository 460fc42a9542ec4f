/* From names as people type them to events that can be opened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_codes.h"
#include "libpfm.h"
#include "presets.h"
#include "query.h"
#include "sysfs_pmu.h"

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
	for (int i = 0; i < GN_COMPONENTS; i++) {
		if (strcmp(prefix, gn_source_name(i)))
			continue;
		gn_error_event(query->why, GN_ENOEVNT, query->name,
			       "component '%s' has no event of that name", prefix);
		return gn_error_remedy(query->why,
				       "`gnomon events --component %s` lists those it has", prefix);
	}
	gn_nearest_begin(&nearest, prefix);
	for (int i = 0; i < GN_COMPONENTS; i++)
		gn_nearest_try(&nearest, gn_source_name(i));
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
	for (int i = 0; i < GN_COMPONENTS; i++)
		gn_listed_each(query->places, gn_source_component(i), gn_nearest_see, &nearest);
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

static int ask_sources(struct gn_query *query)
{
	int failed = gn_component_is_used(GN_COMPONENT_CPU) ? gn_preset_resolve(query) : GN_OK;

	if (!failed && !query->n)
		failed = gn_native_resolve(query);
	if (!failed && !query->n)
		failed = gn_disabled_resolve(query);
	if (!failed && !query->n)
		failed = unknown(query);
	return failed ? failed : gn_codes_of(query);
}

int gn_resolve_at(const struct gn_places *places, const char *name, struct gn_event **out, int max,
		  int *n, struct gn_error_text *why)
{
	return gn_query_answer(places, name, ask_sources, out, max, n, why);
}

int gn_resolve(const char *name, struct gn_event **out, int max, int *n, struct gn_error_text *why)
{
	return gn_resolve_at(&gn_this_machine, name, out, max, n, why);
}

int gn_resolve_code(uint32_t code, struct gn_event **out, int max, int *n,
		    struct gn_error_text *why)
{
	char name[GN_NAME_MAX];

	*n = 0;
	if (!gn_code_name(code, name))
		return gn_error_set(why, GN_ENOEVNT,
				    "code %#x: no event has it; gn_event_code() gives "
				    "codes",
				    (unsigned int)code);
	return gn_resolve(name, out, max, n, why);
}
