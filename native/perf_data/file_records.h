/* All records of a perf.data file, one after the other: those of perf, and the kernel's
 * (kernel_records.h), which those of perf may hold compressed. */
#ifndef GNOMON_PERF_DATA_FILE_RECORDS_H
#define GNOMON_PERF_DATA_FILE_RECORDS_H

#include <stdint.h>

#include "perf_file.h"

/* Those between two offsets. 0, -ENOMEM, -EBADMSG with the problem told, or another error of
 * writing down what was decompressed. */
int gn_file_records_read(struct gn_perf_file *file, uint64_t begin, uint64_t end);

#endif
