/* Numbers by keys of 64 bits: an open hash table. */
#ifndef GNOMON_PERF_DATA_NUMBER_MAP_H
#define GNOMON_PERF_DATA_NUMBER_MAP_H

#include <stdint.h>

#define GN_NO_NUMBER UINT32_MAX

struct gn_number_map {
	struct gn_numbered {
		uint64_t key;
		uint32_t number; /* GN_NO_NUMBER: the slot is free */
	} *slot;
	uint64_t mask;
	uint64_t n;
};

/* GN_NO_NUMBER: the key has none. */
uint32_t gn_number_of(const struct gn_number_map *map, uint64_t key);
/* Gives a key its number, or another one. 0 or -ENOMEM. */
int gn_number_put(struct gn_number_map *map, uint64_t key, uint32_t number);
void gn_number_map_free(struct gn_number_map *map);

#endif
