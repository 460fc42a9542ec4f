/*
 * Reads a perf.data file as a whole, by its header. Reading samples comes later (profile_reader.h),
 * when it is known where modules are.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt of Linux. Files may hold anything:
 * nothing is read outside of records, and all loops are bounded by the file's size.
 */
#ifndef GNOMON_PERF_DATA_FILE_READER_H
#define GNOMON_PERF_DATA_FILE_READER_H

#include "perf_file.h"

/*
 * Reads a file by its descriptor; what is decompressed goes to another one, a file without a name.
 * Both stay the caller's. 0, -ENOMEM, or -EBADMSG with the problem told; gn_perf_file_close() is
 * for all of these.
 */
int gn_perf_file_open(struct gn_perf_file *file, int descriptor, int unpacked);

#endif
