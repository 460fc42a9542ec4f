/* What zstd has compressed, by the library of the system: only who reads such a file needs it. */
#ifndef GNOMON_PERF_DATA_ZSTD_STREAM_H
#define GNOMON_PERF_DATA_ZSTD_STREAM_H

#include <stddef.h>
#include <stdint.h>

struct gn_zstd_stream {
	void *stream; /* NULL: nothing was decompressed yet */
	uint8_t *unpacked;
	uint64_t packed_bytes, unpacked_bytes; /* so far */
};

/* Takes what was decompressed. 0 or a negative errno. */
typedef int gn_zstd_sink(void *to, const uint8_t *bytes, size_t n);

/* 0, -ELIBACC: there is no library, -EBADMSG: the bytes are damaged, -EFBIG: they come to more than
 * zstd makes of so few, or the sink's. */
int gn_zstd_unpack(struct gn_zstd_stream *zstd, const uint8_t *packed, size_t n, gn_zstd_sink *sink,
		   void *to);
void gn_zstd_end(struct gn_zstd_stream *zstd);

#endif
