/* What components count that C does not: those of Python and the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "sysfs_pmu.h"

static const char *const components[] = {
	"io", "network", "memory", "power", "gpu", "uncore", "emulated",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A PMU of this machine whose events another component counts: `power/energy-pkg/`. */
static int is_counted_elsewhere(const struct gn_places *places, const char *base)
{
	char pattern[2 * GN_NAME_MAX], prefixed[3 * GN_NAME_MAX];
	const size_t length = strcspn(base, "/");
	struct gn_pmu *pmus;
	int n, is_counted = 0;

	if (!length || !base[length])
		return 0;
	/* uncore_imc means all of uncore_imc_0, uncore_imc_1 ...; so does imc. */
	snprintf(pattern, sizeof(pattern), "%.*s", (int)length, base);
	n = gn_pmus(places->sysfs, &pmus);
	for (int i = 0; i < n && !is_counted; i++) {
		const char *name = pmus[i].name;

		if (pmus[i].is_core || !strcmp(name, "msr"))
			continue;
		snprintf(prefixed, sizeof(prefixed), "uncore_%s", pattern);
		is_counted = gn_matches(name, pattern) || gn_matches(name, prefixed);
		snprintf(prefixed, sizeof(prefixed), "uncore_%s_*", pattern);
		is_counted =
			is_counted || gn_matches(name, prefixed) || gn_matches(name, prefixed + 7);
	}
	free(pmus);
	return is_counted;
}

const char *gn_other_component(const struct gn_query *query)
{
	const char *colons = strstr(query->name, ":::");

	for (size_t i = 0; colons && i < COUNT(components); i++)
		if (strlen(components[i]) == (size_t)(colons - query->name) &&
		    !strncmp(query->name, components[i], strlen(components[i])))
			return components[i];
	if (!strcmp(query->name, "tsc:::cycles"))
		return "tsc";
	if (*query->elsewhere)
		return "uncore";
	if (!is_counted_elsewhere(query->places, query->base))
		return NULL;
	return strncmp(query->base, "power", 5) ? "uncore" : "power";
}

void gn_other_components_near(struct gn_nearest *nearest)
{
	for (size_t i = 0; i < COUNT(components); i++)
		gn_nearest_try(nearest, components[i]);
}

int gn_nearest_see(void *nearest, const char *name, const char *unit, const char *description)
{
	(void)unit;
	(void)description;
	gn_nearest_try(nearest, name);
	return 0;
}
