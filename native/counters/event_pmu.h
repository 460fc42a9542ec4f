/* Which PMU an event counts on, by sysfs. */
#ifndef GNOMON_COUNTERS_EVENT_PMU_H
#define GNOMON_COUNTERS_EVENT_PMU_H

#include <stdint.h>

#include "error_text.h"

#include "gnomon/perf.h"

/*
 * The number of the PMU that an event counts on: two events whose numbers differ never compete for
 * counters, and cannot be in one kernel group. 0: the kernel counts it, without a PMU.
 */
uint32_t gn_pmu_of(const struct gn_event_spec *spec);

/* How often the kernel rotates the groups of a PMU, in nanoseconds; 0 if it does not say. */
uint64_t gn_pmu_interval_ns(uint32_t pmu);

/*
 * The highest precise_ip of a PMU, 0 where it does not say: drivers that know nothing of it take
 * any number, and attribute as ever.
 */
int gn_pmu_precise(uint32_t pmu);

#endif
