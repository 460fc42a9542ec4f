#include "record_chunk.h"

#include <errno.h>

/* Of 48 bytes these are 3 KB and 48 KB. */
#define RECORDS_LEAST 64u
#define RECORDS_MOST 1024u

int gn_record_chunk_take(struct gn_record_chunk *chunk, struct gn_mapped_file *file,
			 _Atomic uint64_t *tail, uint32_t record_bytes)
{
	const uint32_t doubled = chunk->n ? 2 * chunk->n : RECORDS_LEAST;
	const uint32_t n = doubled < RECORDS_MOST ? doubled : RECORDS_MOST;
	const uint64_t bytes = (uint64_t)n * record_bytes;
	const uint64_t begin = atomic_fetch_add(tail, bytes);
	int result = 0;

	if (!gn_mapped_file_has_room(file, begin + bytes))
		result = gn_mapped_file_grow(file, begin + bytes);
	if (result) {
		/* There is no room for others either, from now on. */
		atomic_fetch_sub(tail, bytes);
		return result;
	}
	chunk->n = n;
	chunk->next = file->start + begin;
	chunk->end = chunk->next + bytes;
	return 0;
}
