#include "text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of_text(const struct gn_text_table *table, struct gn_text text)
{
	uint64_t hash = table->slots.seed ^ text.length, word;
	size_t at = 0;

	for (; text.length - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text.begin + at, sizeof(word));
		hash = gn_mixed(hash, word);
	}
	word = 0;
	memcpy(&word, text.begin + at, text.length - at);
	return gn_mixed(hash, word);
}

static uint64_t hash_of(const void *table, uint32_t number)
{
	const struct gn_text_table *texts = table;

	return hash_of_text(texts, texts->texts[number]);
}

/* The slot that has a text, or the empty one where it would be. */
static uint32_t *place_of(const struct gn_text_table *table, struct gn_text text)
{
	const struct gn_slots *slots = &table->slots;
	uint32_t at = (uint32_t)hash_of_text(table, text) & (slots->n_slots - 1);

	for (; slots->numbers[at]; at = (at + 1) & (slots->n_slots - 1)) {
		const struct gn_text *other = &table->texts[slots->numbers[at] - 1];

		if (other->length == text.length &&
		    memcmp(other->begin, text.begin, text.length) == 0)
			break;
	}
	return &slots->numbers[at];
}

int64_t gn_text_number(struct gn_text_table *table, struct gn_text text)
{
	struct gn_text *texts;
	uint32_t *slot;

	if (gn_slots_begin(&table->slots) < 0)
		return -ENOMEM;
	slot = place_of(table, text);
	if (*slot)
		return *slot - 1;
	texts = gn_with_room(table->texts, table->slots.n, &table->room, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	table->texts = texts;
	texts[table->slots.n] = text;
	return gn_slots_number(&table->slots, slot, hash_of, table);
}

void gn_text_table_free(struct gn_text_table *table)
{
	free(table->texts);
	gn_slots_free(&table->slots);
	*table = (struct gn_text_table){0};
}
