/* The records of a perf.data file that the kernel wrote: which have to be taken in their turn, and
 * what is taken of the others at once. */
#ifndef GNOMON_PERF_DATA_KERNEL_RECORDS_H
#define GNOMON_PERF_DATA_KERNEL_RECORDS_H

#include <stdint.h>

#include "perf_file.h"

/* A record that lies at a position (struct gn_record_entry). 0, -ENOMEM, or -EBADMSG with the
 * problem told. */
int gn_kernel_record_take(struct gn_perf_file *file, const uint8_t *record,
			  const struct gn_perf_header *header, uint64_t position);

/* Brings them into the order of their times once all are there. 0 or -ENOMEM. */
int gn_kernel_records_sort(struct gn_perf_file *file);

/* The user's part of a call chain that was written later. -ENOENT: there is none. */
int gn_perf_deferred(const struct gn_perf_file *file, uint64_t cookie, uint64_t *position);

#endif
