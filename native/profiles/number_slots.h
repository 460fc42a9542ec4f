/*
 * Slots of a hash table that gives numbers from 0 on: what is numbered lies in arrays of whoever
 * has the slots.
 *
 * What is looked up comes from files that may mean harm: a seed that nobody knows keeps them from
 * choosing what all falls into one place.
 */
#ifndef GNOMON_NUMBER_SLOTS_H
#define GNOMON_NUMBER_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct gn_slots {
	uint32_t *numbers; /* a number and one each, 0 for none */
	uint32_t n, n_slots;
	uint64_t seed;
};

/* Well mixed bits of two numbers. */
static inline uint64_t gn_mixed(uint64_t one, uint64_t other)
{
	const unsigned __int128 product =
		(unsigned __int128)(one ^ 0x9e3779b97f4a7c15u) * (other ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Make the first slots, if there are none; -ENOMEM without memory. */
int gn_slots_begin(struct gn_slots *slots);

/*
 * Give the next number to what is in no slot yet, and -ENOMEM without memory, with all as it was.
 *
 * `slot` is the empty one where it belongs; `hash_of` the hash of what has a number in `table`.
 */
int64_t gn_slots_number(struct gn_slots *slots, uint32_t *slot,
			uint64_t (*hash_of)(const void *table, uint32_t number), const void *table);

void gn_slots_free(struct gn_slots *slots);

/*
 * Room for one element more in an array; its new place, or NULL without memory, with the array as
 * it was.
 */
void *gn_with_room(void *array, uint32_t n, uint32_t *room, size_t element_bytes);

#endif
