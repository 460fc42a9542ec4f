/*
 * Memory of a module's tables, which lives until its answer is written.
 *
 * This is a program of its own: without memory it ends, and who asked it says so of the module.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GN_EXIT_NO_MEMORY = 3 };

struct gn_arena {
	struct gn_arena_block *last;
};

/* Zeroed, aligned for anything. Never NULL. */
void *gn_arena_alloc(struct gn_arena *arena, size_t size);
void *gn_arena_array(struct gn_arena *arena, uint64_t n, size_t size);
void gn_arena_free(struct gn_arena *arena);

/* An array that grows by pushing: room for one more element of it, not zeroed. Never NULL. */
struct gn_vector {
	void *data;
	size_t n, n_max;
};

void *gn_vector_push(struct gn_vector *vector, size_t element_size);
void gn_vector_free(struct gn_vector *vector);
