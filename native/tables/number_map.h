/* Numbers by keys of 64 bits. */
#ifndef GNOMON_NUMBER_MAP_H
#define GNOMON_NUMBER_MAP_H

#include "key_table.h"

struct gn_number_map {
	struct gn_key_table keys;
	uint32_t *number; /* of each key */
	uint32_t room;
};

/* GN_NO_NUMBER: the key has none. */
uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key);
/* Gives a key its number, or another one. 0 or -ENOMEM. */
int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number);
void gn_number_map_free(struct gn_number_map *map);

#endif
