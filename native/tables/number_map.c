#include "number_map.h"

#include <errno.h>
#include <stdlib.h>

static struct gn_key key_of(uint64_t key)
{
	return (struct gn_key){{(uint32_t)(key >> 32), (uint32_t)key, 0}};
}

uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key)
{
	const uint32_t place = gn_key_find(&map->keys, key_of(key));

	return place == GN_NO_NUMBER ? GN_NO_NUMBER : map->number[place];
}

int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number)
{
	uint32_t *numbers =
		gn_with_room(map->number, map->keys.slots.n, &map->room, sizeof(*numbers));
	int64_t place;

	if (!numbers)
		return -ENOMEM;
	map->number = numbers;
	place = gn_key_number(&map->keys, key_of(key));
	if (place < 0)
		return -ENOMEM;
	numbers[place] = number;
	return 0;
}

void gn_number_map_free(struct gn_number_map *map)
{
	gn_key_table_free(&map->keys);
	free(map->number);
	*map = (struct gn_number_map){0};
}
