/*
 * libpfm4, loaded when first asked for: a machine without it, or a program that needs none of its
 * names, never pays for it. Both libgnomon and the Python extension use it through this.
 */
#ifndef GNOMON_COUNTERS_LIBPFM_H
#define GNOMON_COUNTERS_LIBPFM_H

#include <perfmon/pfmlib.h>
#include <stddef.h>

#include "gnomon/perf.h"

struct gn_pfm {
	int version;
	pfm_err_t (*initialize)(void);
	const char *(*strerror)(int);
	int (*get_version)(void);
	pfm_err_t (*get_pmu_info)(pfm_pmu_t, pfm_pmu_info_t *);
	pfm_err_t (*get_event_info)(int, pfm_os_t, pfm_event_info_t *);
	pfm_err_t (*get_event_attr_info)(int, int, pfm_os_t, pfm_event_attr_info_t *);
	int (*get_event_next)(int);
	pfm_err_t (*get_os_event_encoding)(const char *, int, pfm_os_t, void *);
};

/*
 * From now on it names and encodes events of CPUs that are not here, too, so that a refusal can say
 * whose event it is. Before the first gn_pfm(): libpfm4 looks once. Of a process of our own only,
 * as its environment is changed for a moment.
 */
void gn_pfm_encode_inactive(void);

/* Its functions; NULL where it cannot be had, and then why in *problem. Thread-safe. */
const struct gn_pfm *gn_pfm(const char **problem);

/* What libpfm4 writes for a name: longer ones are cut off. */
#define GN_PFM_NAME_MAX 1024

/*
 * What libpfm4 makes of an event name; `full` is the name as it understood it. One call at a time
 * in a process. Returns PFM_SUCCESS or another PFM_ERR_*.
 */
int gn_pfm_encode(const struct gn_pfm *pfm, const char *name, struct gn_event_spec *spec,
		  char full[GN_PFM_NAME_MAX]);

/* PMUs have numbers below this, also those of later libpfm4's than the one compiled with. */
#define GN_PFM_PMUS 2048

/* A PMU of its tables by number: 1, or 0 if there is none. */
int gn_pfm_pmu(const struct gn_pfm *pfm, int id, pfm_pmu_info_t *info);

/* Called with a name and a description; returns 0 to go on. */
typedef int gn_pfm_seen(void *context, const char *name, const char *description);

/* Every event of a PMU as `pmu::EVENT`, or `pmu::EVENT:MASK` for each of its unit masks. */
int gn_pfm_each(const struct gn_pfm *pfm, const pfm_pmu_info_t *pmu, gn_pfm_seen *seen,
		void *context);

#endif
