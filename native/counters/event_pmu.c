/* PMUs. Source: Documentation/ABI/testing/sysfs-bus-event_source-devices*. */
#include "event_pmu.h"

#include <stdlib.h>

#include "sysfs_pmu.h"

#define NS_PER_MS 1000000u

/* The PMU of all cores; PERF_TYPE_RAW where there is none or several. */
static uint32_t core_type(void)
{
	struct gn_pmu *cores;
	const int n = gn_core_pmus(GN_SYSFS, &cores);
	const uint32_t type = n == 1 ? cores[0].type : PERF_TYPE_RAW;

	free(cores);
	return type;
}

uint32_t gn_pmu_of(const struct gn_event_spec *spec)
{
	const uint32_t extended = (uint32_t)(spec->config >> 32);

	switch (spec->type) {
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return 0;
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		if (extended)
			return extended;
		break;
	case PERF_TYPE_RAW:
		break;
	default:
		return spec->type;
	}
	return core_type();
}

/* The number in a file of a PMU's folder; 0 where there is none. */
static uint64_t number_of(uint32_t pmu, const char *file)
{
	uint64_t number = 0;
	struct gn_pmu *pmus;
	const int n = gn_pmus(GN_SYSFS, &pmus);

	for (int i = 0; i < n; i++) {
		char text[GN_FILE_MAX];

		if (pmus[i].type != pmu)
			continue;
		if (gn_file_text(text, sizeof(text), GN_SYSFS "/bus/event_source/devices/%s/%s",
				 pmus[i].name, file) > 0)
			number = strtoull(text, NULL, 10);
		break;
	}
	free(pmus);
	return number;
}

uint64_t gn_pmu_interval_ns(uint32_t pmu)
{
	return number_of(pmu, "perf_event_mux_interval_ms") * NS_PER_MS;
}

int gn_pmu_precise(uint32_t pmu)
{
	const uint64_t precise = pmu ? number_of(pmu, "caps/max_precise") : 0;

	return precise < 3 ? (int)precise : 3;
}
