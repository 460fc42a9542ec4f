#include "text_table.h"

#include "key_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_LEAST = 256 };

static uint64_t hash_of(const struct gn_text_table *table, struct gn_text text)
{
	uint64_t hash = table->seed ^ text.length, word;
	size_t at = 0;

	for (; text.length - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text.begin + at, sizeof(word));
		hash = gn_mixed(hash, word);
	}
	word = 0;
	memcpy(&word, text.begin + at, text.length - at);
	return gn_mixed(hash, word);
}

static uint32_t *place_of(const struct gn_text_table *table, struct gn_text text)
{
	uint32_t at = (uint32_t)hash_of(table, text) & (table->n_slots - 1);

	for (; table->slots[at]; at = (at + 1) & (table->n_slots - 1)) {
		const struct gn_text *known = &table->texts[table->slots[at] - 1];

		if (known->length == text.length &&
		    memcmp(known->begin, text.begin, text.length) == 0)
			break;
	}
	return &table->slots[at];
}

static int with_more_slots(struct gn_text_table *table)
{
	const uint32_t n_slots = table->n_slots ? 2 * table->n_slots : SLOTS_LEAST;
	uint32_t *slots;

	if (table->n_slots > UINT32_MAX / 4)
		return -ENOMEM;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->n_slots = n_slots;
	for (uint32_t i = 0; i < table->n; i++)
		*place_of(table, table->texts[i]) = i + 1;
	return 0;
}

int64_t gn_text_number(struct gn_text_table *table, struct gn_text text)
{
	struct gn_text *texts;
	uint32_t *slot;

	if (!table->n_slots) {
		table->seed = gn_table_seed();
		if (with_more_slots(table) < 0)
			return -ENOMEM;
	}
	slot = place_of(table, text);
	if (*slot)
		return *slot - 1;
	texts = gn_with_room(table->texts, table->n, &table->room, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	table->texts = texts;
	texts[table->n++] = text;
	*slot = table->n;
	if (table->n > table->n_slots / 4 * 3 && with_more_slots(table) < 0) {
		table->n--;
		*slot = 0;
		return -ENOMEM;
	}
	return table->n - 1;
}

void gn_text_table_free(struct gn_text_table *table)
{
	free(table->texts);
	free(table->slots);
	*table = (struct gn_text_table){0};
}
