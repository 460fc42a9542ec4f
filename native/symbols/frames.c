#include "frames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_MIN 1024

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	return hash ^ hash >> 32;
}

static const char *text_at(const struct gn_texts *texts, uint32_t number, size_t *size)
{
	const uint64_t *ends = texts->ends.data;
	const uint64_t begin = number ? ends[number - 1] : 0;

	*size = (size_t)(ends[number] - begin);
	return (const char *)texts->bytes.data + begin;
}

/* The slot of a text: its own, or the free one where it belongs. Slots hold numbers plus 1. */
static uint32_t *slot_of(const struct gn_texts *texts, const char *text, size_t size)
{
	size_t slot = hash_of(text, size) & (texts->n_slots - 1), its;

	while (texts->slots[slot]) {
		const char *other = text_at(texts, texts->slots[slot] - 1, &its);

		if (its == size && !memcmp(other, text, size))
			break;
		slot = (slot + 1) & (texts->n_slots - 1);
	}
	return &texts->slots[slot];
}

static void resize(struct gn_texts *texts, size_t n_slots)
{
	size_t size;

	free(texts->slots);
	texts->n_slots = n_slots;
	texts->slots = calloc(n_slots, sizeof(*texts->slots));
	if (!texts->slots)
		_exit(GN_EXIT_NO_MEMORY);
	for (uint32_t i = 0; i < texts->ends.n; i++) {
		const char *text = text_at(texts, i, &size);

		*slot_of(texts, text, size) = i + 1;
	}
}

static void push_bytes(struct gn_vector *bytes, const char *text, size_t size)
{
	if (bytes->n_max - bytes->n <= size) {
		bytes->n_max = 2 * bytes->n_max + size + 4096;
		bytes->data = realloc(bytes->data, bytes->n_max);
		if (!bytes->data)
			_exit(GN_EXIT_NO_MEMORY);
	}
	memcpy((char *)bytes->data + bytes->n, text, size);
	bytes->n += size;
}

uint32_t gn_texts_number(struct gn_texts *texts, const char *text)
{
	const size_t size = strlen(text);
	uint32_t *slot = slot_of(texts, text, size);

	if (*slot)
		return *slot - 1;
	push_bytes(&texts->bytes, text, size);
	*(uint64_t *)gn_vector_push(&texts->ends, sizeof(uint64_t)) = texts->bytes.n;
	*slot = (uint32_t)texts->ends.n;
	if (2 * texts->ends.n > texts->n_slots)
		resize(texts, 2 * texts->n_slots);
	return (uint32_t)texts->ends.n - 1;
}

void gn_texts_init(struct gn_texts *texts)
{
	*texts = (struct gn_texts){0};
	resize(texts, SLOTS_MIN);
	push_bytes(&texts->bytes, "", 0);
	gn_texts_number(texts, "");
}

void gn_texts_free(struct gn_texts *texts)
{
	gn_vector_free(&texts->bytes);
	gn_vector_free(&texts->ends);
	free(texts->slots);
}
