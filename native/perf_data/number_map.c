#include "number_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64u

/* The finalizer of MurmurHash3. */
static uint64_t hash_of(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ull;
	return key ^ key >> 33;
}

static struct gn_numbered *slot_of(const struct gn_number_map *map, uint64_t key)
{
	uint64_t at = hash_of(key) & map->mask;

	while (map->slot[at].number != GN_NO_NUMBER && map->slot[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slot[at];
}

uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key)
{
	return map->slot ? slot_of(map, key)->number : GN_NO_NUMBER;
}

static int make_room(struct gn_number_map *map)
{
	const uint64_t slots = map->slot ? 2 * (map->mask + 1) : SLOTS_FIRST;
	struct gn_number_map larger = {.mask = slots - 1, .n = map->n};

	if (map->slot && map->n < (map->mask + 1) / 2)
		return 0;
	larger.slot = malloc(slots * sizeof(*larger.slot));
	if (!larger.slot)
		return -ENOMEM;
	for (uint64_t i = 0; i < slots; i++)
		larger.slot[i].number = GN_NO_NUMBER;
	for (uint64_t i = 0; map->slot && i <= map->mask; i++)
		if (map->slot[i].number != GN_NO_NUMBER)
			*slot_of(&larger, map->slot[i].key) = map->slot[i];
	free(map->slot);
	*map = larger;
	return 0;
}

int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number)
{
	struct gn_numbered *slot;

	if (make_room(map))
		return -ENOMEM;
	slot = slot_of(map, key);
	map->n += slot->number == GN_NO_NUMBER;
	*slot = (struct gn_numbered){key, number};
	return 0;
}

void gn_number_map_free(struct gn_number_map *map)
{
	free(map->slot);
	memset(map, 0, sizeof(*map));
}
