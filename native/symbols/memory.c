#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_SIZE ((size_t)1 << 18)

struct gn_arena_block {
	struct gn_arena_block *previous;
	size_t used, size;
	_Alignas(16) unsigned char data[];
};

static void *or_end(void *memory)
{
	if (!memory)
		_exit(GN_EXIT_NO_MEMORY);
	return memory;
}

void *gn_arena_alloc(struct gn_arena *arena, size_t size)
{
	struct gn_arena_block *block = arena->last;
	void *memory;

	if (size > SIZE_MAX / 2)
		_exit(GN_EXIT_NO_MEMORY);
	size = (size + 15) & ~(size_t)15;
	if (!block || size > block->size - block->used) {
		const size_t block_size = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		block = or_end(calloc(1, sizeof(*block) + block_size));
		block->size = block_size;
		block->previous = arena->last;
		arena->last = block;
	}
	memory = block->data + block->used;
	block->used += size;
	return memory;
}

void *gn_arena_array(struct gn_arena *arena, uint64_t n, size_t size)
{
	if (n > SIZE_MAX / 2 / size)
		_exit(GN_EXIT_NO_MEMORY);
	return gn_arena_alloc(arena, (size_t)n * size);
}

void gn_arena_free(struct gn_arena *arena)
{
	while (arena->last) {
		struct gn_arena_block *block = arena->last;

		arena->last = block->previous;
		free(block);
	}
}

void *gn_vector_push(struct gn_vector *vector, size_t element_size)
{
	if (vector->n == vector->n_max) {
		vector->n_max = vector->n_max ? 2 * vector->n_max : 64;
		vector->data = or_end(realloc(vector->data, vector->n_max * element_size));
	}
	return (unsigned char *)vector->data + vector->n++ * element_size;
}

void gn_vector_free(struct gn_vector *vector)
{
	free(vector->data);
	*vector = (struct gn_vector){0};
}
