/* Memory that is given back all at once. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

#define CHUNK 65536
#define ALIGNMENT sizeof(max_align_t)

struct ranks_chunk {
	struct ranks_chunk *next;
	size_t used;
	size_t size;
	max_align_t begin[];
};

static struct ranks_chunk *new_chunk(struct ranks_arena *arena, size_t bytes)
{
	const size_t size = bytes > CHUNK ? bytes : CHUNK;
	struct ranks_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *ranks_take(struct ranks_arena *arena, size_t n, size_t bytes)
{
	struct ranks_chunk *chunk = arena->chunk;
	size_t total;
	void *taken;

	if (__builtin_mul_overflow(n, bytes, &total) || total > SIZE_MAX / 4) {
		arena->is_full = 1;
		return NULL;
	}
	total = (total + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
	if (!chunk || chunk->size - chunk->used < total)
		chunk = new_chunk(arena, total);
	if (!chunk) {
		arena->is_full = 1;
		return NULL;
	}
	taken = (char *)chunk->begin + chunk->used;
	chunk->used += total;
	return taken;
}

char *ranks_text(struct ranks_arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	text = length < 0 ? NULL : ranks_take(arena, (size_t)length + 1, 1);
	if (!text)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

void *ranks_grow(struct ranks_arena *arena, void *array, int n, size_t bytes)
{
	void *larger;

	/* There is room up to the next power of two. */
	if (n & (n - 1))
		return array;
	larger = ranks_take(arena, n ? 2 * (size_t)n : 1, bytes);
	if (larger && n)
		memcpy(larger, array, (size_t)n * bytes);
	return larger;
}

void ranks_drop(struct ranks_arena *arena)
{
	while (arena->chunk) {
		struct ranks_chunk *next = arena->chunk->next;

		free(arena->chunk);
		arena->chunk = next;
	}
	arena->is_full = 0;
}

int ranks_error(const struct ranks_arena *arena)
{
	return arena->is_full ? ENOMEM : EBADMSG;
}
