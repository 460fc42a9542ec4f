/* The kernel's own description of its PMUs: sysfs `event_source` devices. */
#ifndef GNOMON_COUNTERS_SYSFS_PMU_H
#define GNOMON_COUNTERS_SYSFS_PMU_H

#include "event_grammar.h"
#include "gnomon/perf.h"
#include "read_file.h"

#define GN_PMU_NAME_MAX 128

/* Where this machine's kernel describes its PMUs. */
#define GN_SYSFS "/sys"

struct gn_pmu {
	char name[GN_PMU_NAME_MAX];
	uint32_t type;
	int is_core; /* counts in CPU cores: `cpu`, or one that lists the CPUs it belongs to */
};

/* Every PMU that the kernel shows, by name; free() the list. The number, or -ENOMEM. */
int gn_pmus(const char *sysfs, struct gn_pmu **list);

/* The PMUs of the cores; free() the list. Their number, or -ENOMEM. */
int gn_core_pmus(const char *sysfs, struct gn_pmu **list);

/* The PMU of that name: 1, or 0 if there is none. */
int gn_pmu_find(const char *sysfs, const char *name, struct gn_pmu *pmu);

/*
 * What perf_event_open(2) wants for terms such as `event=0x3c,umask=1` or an event's name.
 * GN_ENOEVNT, with the reason: a term that the PMU does not have, or a value that does not fit.
 */
int gn_pmu_encode(const char *sysfs, const struct gn_pmu *pmu, const char *name,
		  const struct gn_terms *terms, struct gn_event_spec *spec,
		  struct gn_error_text *why);

/* The names of its events, without what the kernel says about units. 0 or a negative errno. */
int gn_pmu_events(const char *sysfs, const char *pmu, struct gn_names *events);

/*
 * The unit and the factor that the kernel declares for an event: "" and 1 for a plain count. What
 * is no positive number is no factor.
 */
double gn_pmu_unit(const char *sysfs, const char *pmu, const char *event, char *unit, size_t size);

#endif
