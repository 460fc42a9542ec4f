/* The components of libgnomon, and leaving some of them out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "libpfm.h"
#include "presets.h"
#include "query.h"

static const struct {
	const char *name;
	const char *description;
} components[GN_COMPONENTS] = {
	[GN_COMPONENT_CPU] = {"cpu", "hardware counters of the CPU cores"},
	[GN_COMPONENT_KERNEL] = {"kernel", "software events and tracepoints of the Linux kernel"},
	[GN_COMPONENT_TSC] = {"tsc", "the kernel's msr PMU; gn_real_cycles() is the time counter"},
};

int gn_component_count(void)
{
	return GN_COMPONENTS;
}

int gn_component_index(const char *name, int *component)
{
	if (!name || !component)
		return gn_fail(GN_EINVAL, "name or component: NULL; give both");
	for (int i = 0; i < GN_COMPONENTS; i++) {
		if (strcmp(name, components[i].name))
			continue;
		*component = i;
		return GN_OK;
	}
	return gn_fail(GN_ENOCMP,
		       "component '%.64s': libgnomon has cpu, kernel and tsc; the others count in "
		       "`gnomon count` and in Python",
		       name);
}

int gn_component_disable(const char *name)
{
	int component, failed;

	failed = gn_component_index(name, &component);
	if (failed)
		return failed;
	if (gn_component_leave_out(component))
		return GN_OK;
	return gn_fail(GN_ENOINIT,
		       "component %s: events have been looked up already; disable it before", name);
}

#if defined(__x86_64__) || defined(__i386__)
/* What the processor tells, as in core_counters() of counters/hardware/devices.py; 0: nothing. */
static int counters_told(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (__get_cpuid_count(0xa, 0, &eax, &ebx, &ecx, &edx) && eax & 0xff)
		return (int)((eax >> 8 & 0xff) + ((eax & 0xff) > 1 ? edx & 0x1f : 0));
	if (__get_cpuid_count(0x80000022, 0, &eax, &ebx, &ecx, &edx))
		return (int)(ebx & 0xf);
	return 0;
}
#else
static int counters_told(void)
{
	return 0;
}
#endif

/* Counters of a core, by cpuid, else by libpfm4's tables; 0: there is no PMU, or nothing tells. */
static int core_counters(void)
{
	const char *problem;
	const struct gn_pfm *pfm = gn_pfm(&problem);
	struct gn_pmu *pmus = NULL;
	const int n = gn_core_pmus(gn_this_machine.sysfs, &pmus);

	free(pmus);
	if (n <= 0)
		return 0;
	if (counters_told())
		return counters_told();
	for (int id = 0; pfm && id < GN_PFM_PMUS; id++) {
		pfm_pmu_info_t pmu;

		if (gn_pfm_pmu(pfm, id, &pmu) && pmu.is_present && pmu.type == PFM_PMU_TYPE_CORE &&
		    pmu.num_cntrs)
			return pmu.num_cntrs + pmu.num_fixed_cntrs;
	}
	return 0;
}

const char *gn_component_trial(int component)
{
	switch (component) {
	case GN_COMPONENT_CPU:
		return "instructions";
	case GN_COMPONENT_KERNEL:
		return "task-clock";
	default:
		return "msr/tsc/";
	}
}

int gn_component_describe(int component, struct gn_component_info *info)
{
	if (component < 0 || component >= GN_COMPONENTS)
		return gn_fail(GN_ENOCMP, "component %d: there are %d; count from 0", component,
			       GN_COMPONENTS);
	if (!info || info->size != sizeof(*info))
		return gn_fail(GN_EINVAL,
			       "gn_component_info.size: this library's has %zu bytes; set it to "
			       "sizeof(struct gn_component_info)",
			       sizeof(*info));
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	snprintf(info->name, sizeof(info->name), "%s", components[component].name);
	snprintf(info->description, sizeof(info->description), "%s",
		 components[component].description);
	info->counters = component == GN_COMPONENT_CPU ? core_counters() : -1;
	info->is_disabled = gn_component_is_left_out(component);
	if (info->is_disabled)
		snprintf(info->reason, sizeof(info->reason),
			 "the program has disabled it; do not call gn_component_disable()");
	else if (gn_event_available(gn_component_trial(component)))
		snprintf(info->reason, sizeof(info->reason), "%s", gn_message());
	return GN_OK;
}
