#include "mio_memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "mio_heap.h"

struct gn_mio_block {
	struct gn_mio_block *before;
	alignas(max_align_t) char bytes[];
};

void *gn_mio_memory_take(struct gn_mio_memory *memory, size_t bytes)
{
	struct gn_mio_block *block;

	if (bytes > SIZE_MAX - sizeof(*block))
		return NULL;
	block = gn_mio_heap_take(sizeof(*block) + bytes);
	if (!block)
		return NULL;
	block->before = memory->last;
	memory->last = block;
	return block->bytes;
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
		struct gn_mio_block *block = memory->last;

		memory->last = block->before;
		gn_mio_heap_give(block);
	}
}
