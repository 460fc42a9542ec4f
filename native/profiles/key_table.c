#include "key_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SLOTS_LEAST = 256, ROOM_LEAST = 64 };

uint64_t gn_table_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
	return seed;
}

void *gn_with_room(void *array, uint32_t n, uint32_t *room, size_t element_bytes)
{
	uint32_t more = *room;
	void *grown;

	if (n < *room)
		return array;
	if (*room > UINT32_MAX / 2)
		return NULL;
	more = *room < ROOM_LEAST ? ROOM_LEAST : *room + *room / 2;
	grown = realloc(array, more * element_bytes);
	if (grown)
		*room = more;
	return grown;
}

static uint32_t slot_of(const struct gn_key_table *table, struct gn_key key)
{
	const uint64_t first = (uint64_t)key.part[0] << 32 | key.part[1];

	return (uint32_t)gn_mixed(first ^ table->seed, key.part[2]) & (table->n_slots - 1);
}

/* The slot that has a key, or the empty one where it would be. */
static uint32_t *place_of(const struct gn_key_table *table, struct gn_key key)
{
	uint32_t at = slot_of(table, key);

	while (table->slots[at] &&
	       memcmp(&table->keys[table->slots[at] - 1], &key, sizeof(key)) != 0)
		at = (at + 1) & (table->n_slots - 1);
	return &table->slots[at];
}

static int with_more_slots(struct gn_key_table *table)
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
		*place_of(table, table->keys[i]) = i + 1;
	return 0;
}

int64_t gn_key_number(struct gn_key_table *table, struct gn_key key)
{
	struct gn_key *keys;
	uint32_t *slot;

	if (!table->n_slots) {
		table->seed = gn_table_seed();
		if (with_more_slots(table) < 0)
			return -ENOMEM;
	}
	slot = place_of(table, key);
	if (*slot)
		return *slot - 1;
	keys = gn_with_room(table->keys, table->n, &table->room, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	table->keys = keys;
	keys[table->n++] = key;
	*slot = table->n;
	if (table->n > table->n_slots / 4 * 3 && with_more_slots(table) < 0) {
		table->n--;
		*slot = 0;
		return -ENOMEM;
	}
	return table->n - 1;
}

uint32_t gn_key_find(const struct gn_key_table *table, struct gn_key key)
{
	return table->n_slots ? *place_of(table, key) - 1 : GN_NO_NUMBER;
}

void gn_key_table_free(struct gn_key_table *table)
{
	free(table->keys);
	free(table->slots);
	*table = (struct gn_key_table){0};
}
