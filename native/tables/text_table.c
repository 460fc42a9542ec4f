#include "text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const void *table, uint32_t number, const void *sought)
{
	const struct gn_text *own = &((const struct gn_text_table *)table)->texts[number];
	const struct gn_text *text = sought;

	return own->length == text->length && memcmp(own->begin, text->begin, text->length) == 0;
}

int64_t gn_text_number(struct gn_text_table *table, struct gn_text text)
{
	const uint32_t number = table->slots.n;
	struct gn_text *texts;
	struct gn_slot *slot;
	uint32_t hash;

	if (gn_slots_begin(&table->slots) < 0)
		return -ENOMEM;
	hash = gn_slots_hash(&table->slots,
			     gn_mixed_bytes(&table->slots, 0, text.begin, text.length));
	slot = gn_slots_place(&table->slots, hash, is_text, table, &text);
	if (slot->number)
		return slot->number - 1;
	texts = gn_with_room(table->texts, number, &table->room, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	table->texts = texts;
	texts[number] = text;
	return gn_slots_put(&table->slots, slot, hash, number);
}

void gn_text_table_free(struct gn_text_table *table)
{
	free(table->texts);
	gn_slots_free(&table->slots);
	*table = (struct gn_text_table){0};
}
