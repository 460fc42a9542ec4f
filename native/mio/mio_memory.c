#include "mio_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "mio_heap.h"

struct gn_mio_piece {
	struct gn_mio_piece *before;
	alignas(max_align_t) char bytes[];
};

void *gn_mio_memory_take(struct gn_mio_memory *memory, size_t bytes)
{
	struct gn_mio_piece *piece;

	if (bytes > SIZE_MAX - sizeof(*piece))
		return NULL;
	piece = gn_mio_heap_take(sizeof(*piece) + bytes);
	if (!piece)
		return NULL;
	piece->before = memory->last;
	memory->last = piece;
	return piece->bytes;
}

char *gn_mio_memory_text(struct gn_mio_memory *memory, const char *text, size_t length)
{
	char *copy = text ? gn_mio_memory_take(memory, length + 1) : NULL;

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

void gn_mio_memory_free(struct gn_mio_memory *memory)
{
	while (memory->last) {
		struct gn_mio_piece *piece = memory->last;

		memory->last = piece->before;
		gn_mio_heap_give(piece);
	}
}
