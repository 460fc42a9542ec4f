/*
 * Events of the CPU cores' PMUs: perf's generic names, the kernel's own in sysfs, libpfm4's.
 *
 * Source: perf_event_open(2), libpfm4's pfm_get_os_event_encoding(3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm.h"
#include "presets.h"
#include "query.h"
#include "sysfs_pmu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* PERF_PMU_TYPE_SHIFT: which PMU is to count a generic event, since Linux 5.13. */
#define PMU_TYPE_SHIFT 32

/* In the order of enum perf_hw_id. */
static const struct {
	const char *name;
	const char *alias;
	const char *description;
} generic[] = {
	{"cycles", "cpu-cycles", "core clock cycles while not halted"},
	{"instructions", "", "instructions retired"},
	{"cache-references", "", "accesses to the last-level cache"},
	{"cache-misses", "", "misses in the last-level cache"},
	{"branches", "branch-instructions", "branch instructions retired"},
	{"branch-misses", "", "branches predicted wrongly"},
	{"bus-cycles", "", "bus clock cycles"},
	{"stalled-cycles-frontend", "idle-cycles-frontend", "cycles without a new instruction"},
	{"stalled-cycles-backend", "idle-cycles-backend", "cycles waiting to retire"},
	{"ref-cycles", "", "cycles of the reference clock, whatever the frequency"},
};

/* In the order of enum perf_hw_cache_id. */
static const char *const caches[][2] = {
	{"L1-dcache", "level 1 data cache"},
	{"L1-icache", "level 1 instruction cache"},
	{"LLC", "last-level cache"},
	{"dTLB", "data TLB"},
	{"iTLB", "instruction TLB"},
	{"branch", "branch predictor"},
	{"node", "memory of the own NUMA node"},
};

static const struct {
	const char *name;
	uint64_t config; /* operation << 8 | result << 16 */
	const char *description;
} cache_operations[] = {
	{"loads", 0x00000, "loads"},
	{"load-misses", 0x10000, "loads that missed"},
	{"stores", 0x00100, "stores"},
	{"store-misses", 0x10100, "stores that missed"},
	{"prefetches", 0x00200, "prefetches"},
	{"prefetch-misses", 0x10200, "prefetches that missed"},
};

static int is_hexadecimal(const char *text, uint64_t *number)
{
	const size_t length = strlen(text);

	if (!length || length > 16 || text[strspn(text, "0123456789abcdefABCDEF")])
		return 0;
	*number = strtoull(text, NULL, 16);
	return 1;
}

static int is_cache_event(const char *base, uint64_t *config)
{
	for (size_t i = 0; i < COUNT(caches); i++) {
		const size_t length = strlen(caches[i][0]);

		if (strncmp(base, caches[i][0], length) || base[length] != '-')
			continue;
		for (size_t j = 0; j < COUNT(cache_operations); j++) {
			if (strcmp(base + length + 1, cache_operations[j].name))
				continue;
			*config = i | cache_operations[j].config;
			return 1;
		}
	}
	return 0;
}

/* perf's generic events, those of caches, and raw codes: the same on every PMU. */
static int is_generic(const char *base, struct gn_event_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	for (size_t i = 0; i < COUNT(generic); i++) {
		if (strcmp(base, generic[i].name) &&
		    (!*generic[i].alias || strcmp(base, generic[i].alias)))
			continue;
		spec->type = PERF_TYPE_HARDWARE;
		spec->config = i;
		return 1;
	}
	if (is_cache_event(base, &spec->config)) {
		spec->type = PERF_TYPE_HW_CACHE;
		return 1;
	}
	spec->type = PERF_TYPE_RAW;
	return *base == 'r' && is_hexadecimal(base + 1, &spec->config);
}

static const char *description_of(const char *base)
{
	for (size_t i = 0; i < COUNT(generic); i++)
		if (!strcmp(base, generic[i].name) ||
		    (*generic[i].alias && !strcmp(base, generic[i].alias)))
			return generic[i].description;
	return "event of the core PMU";
}

/* The first of the names that a generic event has. */
static const char *canonical(const char *base)
{
	for (size_t i = 0; i < COUNT(generic); i++)
		if (!strcmp(base, generic[i].alias))
			return generic[i].name;
	return base;
}

static void put_on(const struct gn_pmu *pmu, struct gn_event_spec *spec)
{
	if (spec->type == PERF_TYPE_RAW)
		spec->type = pmu->type;
	else
		spec->config |= (uint64_t)pmu->type << PMU_TYPE_SHIFT;
}

int gn_core_generic(const struct gn_core *core, const char *base, struct gn_event_spec *spec)
{
	if (!is_generic(base, spec))
		return 0;
	if (!core->is_alone)
		put_on(&core->pmu, spec);
	return 1;
}

/* Hybrid CPUs: one logical event, one count for each kind of core. */
static int add_generic(struct gn_query *query, const struct gn_event_spec *spec)
{
	const char *letters = query->name + strlen(query->base);
	struct gn_pmu *pmus;
	const int n = gn_core_pmus(query->places->sysfs, &pmus);
	int failed = n < 0 ? gn_error_memory(query->why, query->name) : GN_OK;

	if (!failed && n < 2)
		failed = gn_query_native(query, query->name, canonical(query->base),
					 description_of(query->base), GN_COMPONENT_CPU, spec,
					 GN_EVENT_HARDWARE);
	for (int i = 0; !failed && n > 1 && i < n; i++) {
		struct gn_event_spec own = *spec;
		char label[GN_PMU_NAME_MAX + 2 * GN_NAME_MAX];

		put_on(&pmus[i], &own);
		snprintf(label, sizeof(label), "%s/%s/%s", pmus[i].name, query->base,
			 *letters == ':' ? letters + 1 : letters);
		failed = gn_query_native(query, label, canonical(query->base),
					 description_of(query->base), GN_COMPONENT_CPU, &own,
					 GN_EVENT_HARDWARE);
	}
	free(pmus);
	return failed;
}

/* `pmu/cycles/` of a PMU that has no such event of its own: the generic one, on that PMU. */
static int is_generic_term(const char *sysfs, const struct gn_pmu *pmu, int cores,
			   const struct gn_terms *terms, struct gn_event_spec *spec)
{
	static const char format[] = "%s/bus/event_source/devices/%s/%s/%s";
	const char *key = terms->term[0].key;

	if (terms->n != 1 || terms->term[0].value || !is_generic(key, spec) ||
	    gn_file_exists(format, sysfs, pmu->name, "events", key) ||
	    gn_file_exists(format, sysfs, pmu->name, "format", key))
		return 0;
	if (cores > 1 || spec->type == PERF_TYPE_RAW)
		put_on(pmu, spec);
	return 1;
}

static int add_terms(struct gn_query *query, const struct gn_terms *terms)
{
	const char *sysfs = query->places->sysfs;
	struct gn_event_spec spec;
	struct gn_pmu *pmus;
	const int n = gn_core_pmus(sysfs, &pmus);
	int failed = n < 0 ? gn_error_memory(query->why, query->name) : GN_OK;

	for (int i = 0; i < n; i++) {
		if (strcmp(pmus[i].name, terms->pmu))
			continue;
		if (!is_generic_term(sysfs, &pmus[i], n, terms, &spec))
			failed = gn_pmu_encode(sysfs, &pmus[i], query->name, terms, &spec,
					       query->why);
		if (!failed)
			failed = gn_query_native(query, query->name, query->base,
						 description_of(query->base), GN_COMPONENT_CPU,
						 &spec, GN_EVENT_HARDWARE);
		break;
	}
	free(pmus);
	return failed;
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (gn_is_word(text[length]) || text[length] == '.' || text[length] == '-')
		length++;
	return length;
}

/* A letter and more, then `:mask`, `::mask`, `:parameter=value` any number of times. */
static int is_pfm_name(const char *base)
{
	size_t length;

	if ((*base < 'A' || *base > 'Z') && (*base < 'a' || *base > 'z'))
		return 0;
	base += word_length(base);
	while (*base) {
		if (*base++ != ':')
			return 0;
		base += *base == ':';
		length = word_length(base);
		if (!length)
			return 0;
		base += length;
		if (*base == '=') {
			length = word_length(++base);
			if (!length)
				return 0;
			base += length;
		}
	}
	return 1;
}

/* The PMU whose name a full one begins with. */
static int pmu_of(const struct gn_pfm *pfm, const char *full, pfm_pmu_info_t *info)
{
	const char *end = strstr(full, "::");
	const size_t length = end ? (size_t)(end - full) : strlen(full);

	for (int id = 0; id < GN_PFM_PMUS; id++)
		if (gn_pfm_pmu(pfm, id, info) && !strncmp(info->name, full, length) &&
		    !info->name[length])
			return 1;
	return 0;
}

static int not_here(const struct gn_query *query, const pfm_pmu_info_t *pmu)
{
	gn_error_unavailable(query->why, GN_ENOEVNT, 0, query->name,
			     "it belongs to %s, which this machine does not have",
			     pmu->desc ? pmu->desc : pmu->name);
	return gn_error_remedy(query->why, "see gnomon events for those of this machine");
}

static int add_from_libpfm(struct gn_query *query)
{
	char full[GN_PFM_NAME_MAX];
	struct gn_event_spec spec;
	const struct gn_pfm *pfm;
	pfm_pmu_info_t pmu;
	const char *problem;
	int is_encoded, is_owned;

	if (!is_pfm_name(query->base))
		return GN_OK;
	pfm = gn_pfm(&problem);
	if (!pfm)
		return GN_OK;
	is_encoded = gn_pfm_encode(pfm, query->base, &spec, full) == PFM_SUCCESS;
	if (!is_encoded && !strstr(query->base, "::"))
		return GN_OK;
	is_owned = pmu_of(pfm, full, &pmu);
	if (is_owned && !pmu.is_present)
		return not_here(query, &pmu);
	if (!is_encoded)
		return GN_OK;
	if (is_owned && pmu.type != PFM_PMU_TYPE_CORE && spec.type != PERF_TYPE_HARDWARE &&
	    spec.type != PERF_TYPE_HW_CACHE && spec.type != PERF_TYPE_RAW) {
		if (pmu.type == PFM_PMU_TYPE_UNCORE)
			snprintf(query->elsewhere, sizeof(query->elsewhere), "%s",
				 pmu.desc ? pmu.desc : pmu.name);
		return GN_OK;
	}
	full[GN_NAME_MAX - 1] = '\0';
	return gn_query_native(query, query->name, full, description_of(query->base),
			       GN_COMPONENT_CPU, &spec, GN_EVENT_HARDWARE);
}

int gn_cpu_resolve(struct gn_query *query)
{
	struct gn_event_spec spec;
	struct gn_terms terms;
	const int is_terms = gn_terms(query->base, &terms, query->why);

	if (is_terms < 0)
		return is_terms;
	if (is_terms)
		return add_terms(query, &terms);
	if (is_generic(query->base, &spec))
		return add_generic(query, &spec);
	return add_from_libpfm(query);
}

static int each_of_pmu(const char *sysfs, const struct gn_pmu *pmu, gn_event_seen *seen,
		       void *context)
{
	struct gn_names names;
	int stop = 0;

	gn_pmu_events(sysfs, pmu->name, &names);
	for (size_t i = 0; !stop && i < names.n; i++) {
		char name[GN_PMU_NAME_MAX + 2 * GN_NAME_MAX];

		snprintf(name, sizeof(name), "%s/%s/", pmu->name, names.name[i]);
		stop = seen(context, name, "", "the kernel's name");
	}
	gn_names_free(&names);
	return stop;
}

/* A visitor of named events, called as one of libpfm4's. */
struct visitor {
	gn_event_seen *seen;
	void *context;
};

static int see_plain_count(void *context, const char *name, const char *description)
{
	const struct visitor *visitor = context;

	return visitor->seen(visitor->context, name, "", description);
}

static int each_of_libpfm(gn_event_seen *seen, void *context)
{
	struct visitor visitor = {.seen = seen, .context = context};
	const char *problem;
	const struct gn_pfm *pfm = gn_pfm(&problem);
	int stop = 0;

	for (int id = 0; pfm && !stop && id < GN_PFM_PMUS; id++) {
		pfm_pmu_info_t pmu;

		if (gn_pfm_pmu(pfm, id, &pmu) && pmu.is_present && pmu.type == PFM_PMU_TYPE_CORE)
			stop = gn_pfm_each(pfm, &pmu, see_plain_count, &visitor);
	}
	return stop;
}

int gn_cpu_each(const struct gn_places *places, gn_event_seen *seen, void *context)
{
	struct gn_pmu *pmus;
	int stop = 0, n;

	for (size_t i = 0; !stop && i < COUNT(generic); i++)
		stop = seen(context, generic[i].name, "", generic[i].description);
	for (size_t i = 0; !stop && i < COUNT(caches); i++) {
		for (size_t j = 0; !stop && j < COUNT(cache_operations); j++) {
			char name[64], description[128];

			snprintf(name, sizeof(name), "%s-%s", caches[i][0],
				 cache_operations[j].name);
			snprintf(description, sizeof(description), "%s: %s", caches[i][1],
				 cache_operations[j].description);
			stop = seen(context, name, "", description);
		}
	}
	n = stop ? 0 : gn_core_pmus(places->sysfs, &pmus);
	if (stop || n < 0)
		return stop;
	for (int i = 0; !stop && i < n; i++)
		stop = each_of_pmu(places->sysfs, &pmus[i], seen, context);
	free(pmus);
	return stop ? stop : each_of_libpfm(seen, context);
}
