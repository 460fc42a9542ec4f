#include "mio_heap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What is more is a mistake. */
#define MOST_BYTES ((size_t)1 << 39)

#ifdef __SANITIZE_ADDRESS__

/* That every access is looked at is worth more there than handlers that come upon malloc(3). */
void *gn_mio_heap_take(size_t bytes)
{
	return bytes > MOST_BYTES ? NULL : calloc(1, bytes);
}

void *gn_mio_heap_resize(void *taken, size_t bytes)
{
	return bytes > MOST_BYTES ? NULL : realloc(taken, bytes);
}

void gn_mio_heap_give(void *taken)
{
	free(taken);
}

#else

#include "own_calls.h"

#include <stdalign.h>
#include <stdatomic.h>

/* Pieces are powers of two, from 64 bytes; what is larger than the largest is the system's. */
#define SMALLEST_BITS 6u
#define LARGEST_BITS 13u
#define CHUNK_BYTES ((size_t)1 << 16)
#define CLASSES (LARGEST_BITS - SMALLEST_BITS + 1)

struct piece {
	size_t bytes; /* with this head */
	struct piece *next;
	alignas(max_align_t) char content[];
};

/* Pieces that nobody has. */
static struct piece *_Atomic unused[CLASSES];

static unsigned int class_of(size_t bytes)
{
	unsigned int number = 0;

	while ((size_t)1 << (SMALLEST_BITS + number) < bytes)
		number++;
	return number;
}

/*
 * A list is taken as a whole and given back without its first piece: a handler, or another thread,
 * that comes between finds it empty, never half changed.
 */
static void put(struct piece *_Atomic *list, struct piece *first)
{
	struct piece *expected = NULL, *last = first;

	if (!first || atomic_compare_exchange_strong(list, &expected, first))
		return;
	while (last->next)
		last = last->next;
	expected = atomic_load(list);
	do
		last->next = expected;
	while (!atomic_compare_exchange_weak(list, &expected, first));
}

static struct piece *pieces_of_chunk(size_t bytes)
{
	char *chunk = gn_take_memory(CHUNK_BYTES);
	struct piece *first = NULL;

	for (size_t at = 0; chunk && at < CHUNK_BYTES; at += bytes) {
		struct piece *piece = (struct piece *)(void *)(chunk + CHUNK_BYTES - bytes - at);

		piece->bytes = bytes;
		piece->next = first;
		first = piece;
	}
	return first;
}

static struct piece *take_piece(size_t bytes)
{
	struct piece *piece;

	if (bytes > (size_t)1 << LARGEST_BITS) {
		piece = gn_take_memory(bytes);
		if (piece)
			piece->bytes = bytes;
		return piece;
	}
	bytes = (size_t)1 << (SMALLEST_BITS + class_of(bytes));
	piece = atomic_exchange(&unused[class_of(bytes)], NULL);
	if (!piece)
		piece = pieces_of_chunk(bytes);
	if (piece) {
		put(&unused[class_of(bytes)], piece->next);
		memset(piece->content, 0, bytes - sizeof(*piece));
	}
	return piece;
}

void *gn_mio_heap_take(size_t bytes)
{
	const int before = errno;
	struct piece *piece = bytes > MOST_BYTES ? NULL : take_piece(sizeof(*piece) + bytes);

	errno = before;
	return piece ? piece->content : NULL;
}

static struct piece *piece_of(void *taken)
{
	return (struct piece *)(void *)((char *)taken - offsetof(struct piece, content));
}

void *gn_mio_heap_resize(void *taken, size_t bytes)
{
	const size_t before = taken ? piece_of(taken)->bytes - sizeof(struct piece) : 0;
	void *resized;

	if (taken && bytes <= before)
		return taken;
	resized = gn_mio_heap_take(bytes);
	if (resized && taken) {
		memcpy(resized, taken, before);
		gn_mio_heap_give(taken);
	}
	return resized;
}

void gn_mio_heap_give(void *taken)
{
	struct piece *piece = taken ? piece_of(taken) : NULL;

	if (!piece)
		return;
	if (piece->bytes > (size_t)1 << LARGEST_BITS) {
		gn_give_memory(piece, piece->bytes);
		return;
	}
	piece->next = NULL;
	put(&unused[class_of(piece->bytes)], piece);
}

#endif
