#include "key_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const struct gn_key_table *table, const struct gn_key *key)
{
	const uint64_t first = (uint64_t)key->part[0] << 32 | key->part[1];

	return gn_slots_hash(&table->slots, gn_mixed(&table->slots, first, key->part[2]));
}

static bool is_key(const void *table, uint32_t number, const void *sought)
{
	const struct gn_key_table *keys = table;

	return memcmp(&keys->keys[number], sought, sizeof(*keys->keys)) == 0;
}

int64_t gn_key_number(struct gn_key_table *table, struct gn_key key)
{
	const uint32_t number = table->slots.n;
	struct gn_slot *slot;
	struct gn_key *keys;
	uint32_t hash;

	if (gn_slots_begin(&table->slots) < 0)
		return -ENOMEM;
	hash = hash_of(table, &key);
	slot = gn_slots_place(&table->slots, hash, is_key, table, &key);
	if (slot->number)
		return slot->number - 1;
	keys = gn_with_room(table->keys, number, &table->room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	table->keys = keys;
	keys[number] = key;
	return gn_slots_put(&table->slots, slot, hash, number);
}

uint32_t gn_key_find(const struct gn_key_table *table, struct gn_key key)
{
	if (!table->slots.n_slots)
		return GN_NO_NUMBER;
	return gn_slots_place(&table->slots, hash_of(table, &key), is_key, table, &key)->number - 1;
}

void gn_key_table_free(struct gn_key_table *table)
{
	free(table->keys);
	gn_slots_free(&table->slots);
	*table = (struct gn_key_table){0};
}
