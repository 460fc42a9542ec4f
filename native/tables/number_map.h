/* Numbers by keys of 64 bits; a key may be given another number later. */
#ifndef GNOMON_TABLES_NUMBER_MAP_H
#define GNOMON_TABLES_NUMBER_MAP_H

#include "number_slots.h"

struct gn_number_map {
	struct gn_slots slots; /* by keys, to where these are below */
	struct gn_numbered {
		uint64_t key;
		uint32_t number;
	} *numbered;
	uint32_t room;
};

/* GN_NO_NUMBER: the key has none. */
uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key);
/* Gives a key its number, or another one. 0 or -ENOMEM. */
int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number);
void gn_number_map_free(struct gn_number_map *map);

#endif
