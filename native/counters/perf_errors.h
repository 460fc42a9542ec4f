/* What the errors of perf_event_open(2) mean here; error_text.h has what event sets call. */
#ifndef GNOMON_COUNTERS_PERF_ERRORS_H
#define GNOMON_COUNTERS_PERF_ERRORS_H

#include "error_text.h"

/* The end of a remedy where a machine has no counters. */
#define GN_ON_EMULATED "; or count on an emulated one: gnomon count --pmu emulated"

/* The command that sets kernel.perf_event_paranoid, up to the level. */
#define GN_LOWER_PARANOID "as root: sysctl kernel.perf_event_paranoid="

struct gn_refusal {
	char reason[256];
	char remedy[256];
};

/*
 * Explains an error of perf_event_open(2) on a machine; returns the GN_E* that it is.
 * root: what /proc and /sys lie under, "" but for recorded trees; cpu: the CPU that was to be
 * counted on, -1 for any; error: the negative errno; flags: enum gn_event_flags.
 */
int gn_refusal_at(const char *root, int cpu, int error, unsigned int flags,
		  struct gn_refusal *refusal);

/* Explains why a machine has no PMU for its cores. */
void gn_no_pmu(const char *root, struct gn_refusal *refusal);

#endif
