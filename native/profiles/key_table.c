#include "key_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of_key(const struct gn_key_table *table, struct gn_key key)
{
	const uint64_t first = (uint64_t)key.part[0] << 32 | key.part[1];

	return gn_mixed(first ^ table->slots.seed, key.part[2]);
}

static uint64_t hash_of(const void *table, uint32_t number)
{
	const struct gn_key_table *keys = table;

	return hash_of_key(keys, keys->keys[number]);
}

/* The slot that has a key, or the empty one where it would be. */
static uint32_t *place_of(const struct gn_key_table *table, struct gn_key key)
{
	const struct gn_slots *slots = &table->slots;
	uint32_t at = (uint32_t)hash_of_key(table, key) & (slots->n_slots - 1);

	while (slots->numbers[at] &&
	       memcmp(&table->keys[slots->numbers[at] - 1], &key, sizeof(key)) != 0)
		at = (at + 1) & (slots->n_slots - 1);
	return &slots->numbers[at];
}

int64_t gn_key_number(struct gn_key_table *table, struct gn_key key)
{
	struct gn_key *keys;
	uint32_t *slot;

	if (gn_slots_begin(&table->slots) < 0)
		return -ENOMEM;
	slot = place_of(table, key);
	if (*slot)
		return *slot - 1;
	keys = gn_with_room(table->keys, table->slots.n, &table->room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	table->keys = keys;
	keys[table->slots.n] = key;
	return gn_slots_number(&table->slots, slot, hash_of, table);
}

uint32_t gn_key_find(const struct gn_key_table *table, struct gn_key key)
{
	return table->slots.n_slots ? *place_of(table, key) - 1 : GN_NO_NUMBER;
}

void gn_key_table_free(struct gn_key_table *table)
{
	free(table->keys);
	gn_slots_free(&table->slots);
	*table = (struct gn_key_table){0};
}
