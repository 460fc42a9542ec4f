/*
 * Records of one size in a file that grows through a mapping (mapped_file.h). A thread takes many
 * of them at a time, and writes into them without a lock. Those that it did not come to are zeros.
 */
#ifndef GNOMON_CORE_RECORD_CHUNK_H
#define GNOMON_CORE_RECORD_CHUNK_H

#include <stddef.h>

#include "mapped_file.h"

/* What a thread has taken; zeros at first. */
struct gn_record_chunk {
	char *next, *end;
	uint32_t n; /* records of the last chunk */
};

/*
 * Takes a chunk behind `tail`, which it moves: each is larger than the last one, up to a limit, as
 * many threads have little to say. 0, or a negative errno: the file cannot grow.
 */
int gn_record_chunk_take(struct gn_record_chunk *chunk, struct gn_mapped_file *file,
			 _Atomic uint64_t *tail, uint32_t record_bytes);

/* The next record; NULL: there is none, until a chunk is taken. */
static inline void *gn_record_next(struct gn_record_chunk *chunk, uint32_t record_bytes)
{
	char *record = chunk->next;

	if (__builtin_expect(record == chunk->end, 0))
		return NULL;
	chunk->next += record_bytes;
	return record;
}

#endif
