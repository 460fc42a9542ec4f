/* What metrics may ask of the machine: gnomon.counters.hardware.metric_constants in C. */
#ifndef GNOMON_HPM_METRIC_CONSTANTS_H
#define GNOMON_HPM_METRIC_CONSTANTS_H

#include "report.h"

/*
 * Adds what /proc, /sys and cpuid tell: cpus, cores, L1_line_bytes ..., cycle_seconds. root: "" but
 * for recorded trees, where cpuid is not asked.
 */
void hpm_machine_read(struct hpm_constants *constants, const char *root);

/* What a core of these PMUs can do in a cycle, which depends on the names; NaN if not known. */
double hpm_peak(const struct hpm_constants *constants);

/* Adds a constant, or changes what it is; what the user stated goes before what is found. */
void hpm_constant_set(struct hpm_constants *constants, const char *name, double value, int how);

#endif
