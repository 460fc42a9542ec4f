/* What a set counts, in threads and CPUs. */
#ifndef GNOMON_COUNTERS_TARGETS_H
#define GNOMON_COUNTERS_TARGETS_H

#include "group_plan.h"

/* Checks and completes options. GN_OK, or a GN_E* with gn_message() set. */
int gn_options_check(struct gn_options *options);

/* The same with the process or CPU that a set is attached to. */
int gn_options_attach(struct gn_options *options, int pid, int cpu);

/*
 * The targets of options; tid is the thread that made the set. *targets is for free(). Returns how
 * many, or a GN_E* with gn_message() set.
 */
int gn_targets_find(const struct gn_options *options, int tid, struct gn_target **targets);

#endif
