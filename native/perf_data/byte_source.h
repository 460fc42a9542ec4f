/*
 * The bytes of a file, by blocks of which the last ones that were used are kept. The file is not
 * mapped: another process that shortens it makes an error, and no signal.
 */
#ifndef GNOMON_PERF_DATA_BYTE_SOURCE_H
#define GNOMON_PERF_DATA_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#define GN_BLOCK_BYTES ((uint64_t)1 << 20)
#define GN_BLOCKS 32u

struct gn_byte_block {
	uint64_t number; /* of the block in the file */
	uint64_t used;	 /* when it was used last, 0: it has nothing */
	uint64_t n;	 /* bytes that it has */
	uint8_t *bytes;
};

struct gn_byte_source {
	int descriptor;
	uint64_t size;
	uint64_t uses;
	struct gn_byte_block *last;
	struct gn_byte_block block[GN_BLOCKS];
	uint8_t *joined; /* what lies in two blocks */
	size_t joined_room;
};

/* The descriptor stays the caller's. 0 or a negative errno. */
int gn_byte_source_open(struct gn_byte_source *source, int descriptor);
void gn_byte_source_close(struct gn_byte_source *source);

/* `n` bytes, as long as no others are asked for; NULL: they are not there, or without memory. */
const uint8_t *gn_bytes_at(struct gn_byte_source *source, uint64_t offset, uint64_t n);

#endif
