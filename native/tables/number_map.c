#include "number_map.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t hash_of(const struct gn_number_map *map, uint64_t key)
{
	return gn_slots_hash(&map->slots, gn_mixed(&map->slots, key, 0));
}

static bool is_key(const void *table, uint32_t number, const void *sought)
{
	const struct gn_number_map *map = table;

	return map->numbered[number].key == *(const uint64_t *)sought;
}

static struct gn_slot *place_of(const struct gn_number_map *map, uint32_t hash, uint64_t key)
{
	return gn_slots_place(&map->slots, hash, is_key, map, &key);
}

uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key)
{
	uint32_t at = 0;

	if (map->slots.n_slots)
		at = place_of(map, hash_of(map, key), key)->number;
	return at ? map->numbered[at - 1].number : GN_NO_NUMBER;
}

int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number)
{
	const uint32_t last = map->slots.n;
	struct gn_numbered *numbered;
	struct gn_slot *slot;
	uint32_t hash;

	if (gn_slots_begin(&map->slots) < 0)
		return -ENOMEM;
	hash = hash_of(map, key);
	slot = place_of(map, hash, key);
	if (slot->number) {
		map->numbered[slot->number - 1].number = number;
		return 0;
	}
	numbered = gn_with_room(map->numbered, last, &map->room, sizeof(*numbered));
	if (!numbered)
		return -ENOMEM;
	map->numbered = numbered;
	numbered[last] = (struct gn_numbered){key, number};
	return gn_slots_put(&map->slots, slot, hash, last) < 0 ? -ENOMEM : 0;
}

void gn_number_map_free(struct gn_number_map *map)
{
	free(map->numbered);
	gn_slots_free(&map->slots);
	*map = (struct gn_number_map){0};
}
