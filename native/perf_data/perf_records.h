/*
 * The records of a perf.data file, taken one after the other: those of the kernel, what perf
 * itself says between them, and records that were compressed.
 */
#ifndef GNOMON_PERF_DATA_PERF_RECORDS_H
#define GNOMON_PERF_DATA_PERF_RECORDS_H

#include "perf_file.h"

/* So many sections of features a header may name. */
#define GN_PERF_FEATURES 256u

/* Takes the records between two places. 0, -ENOMEM, or -EBADMSG with the problem told. */
int gn_perf_walk(struct gn_perf_file *file, uint64_t begin, uint64_t end);

int gn_perf_add_note(struct gn_perf_file *file, uint32_t kind, uint64_t offset, uint64_t bytes);
/* What gn_event_attr_add returned for an event at a place, its problem told. */
int gn_perf_check_attr(struct gn_perf_file *file, int failed, uint64_t offset);

#endif
