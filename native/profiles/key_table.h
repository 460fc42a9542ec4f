/*
 * Numbers from 0 on for keys of three numbers each, in the order in which they came.
 *
 * What is looked up comes from files that may mean harm: a seed that nobody knows keeps them from
 * choosing keys that all fall into one place.
 */
#ifndef GNOMON_KEY_TABLE_H
#define GNOMON_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define GN_NO_NUMBER UINT32_MAX

struct gn_key {
	uint32_t part[3];
};

struct gn_key_table {
	struct gn_key *keys; /* by number */
	uint32_t *slots;     /* a number and one each, 0 for none */
	uint32_t n, room, n_slots;
	uint64_t seed;
};

/* Well mixed bits of two numbers. */
static inline uint64_t gn_mixed(uint64_t one, uint64_t other)
{
	const unsigned __int128 product =
		(unsigned __int128)(one ^ 0x9e3779b97f4a7c15u) * (other ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A seed that differs from process to process. */
uint64_t gn_table_seed(void);

/*
 * Room for one element more in an array; its new place, or NULL without memory, with the array as
 * it was.
 */
void *gn_with_room(void *array, uint32_t n, uint32_t *room, size_t element_bytes);

/* The number of a key, a new one if it has none; -ENOMEM without memory. */
int64_t gn_key_number(struct gn_key_table *table, struct gn_key key);

/* The number of a key, GN_NO_NUMBER if it has none. */
uint32_t gn_key_find(const struct gn_key_table *table, struct gn_key key);

void gn_key_table_free(struct gn_key_table *table);

#endif
