/*
 * Slots of a hash table that finds numbers: what is numbered lies in arrays of whoever has the
 * slots.
 *
 * What is looked up comes from files that may mean harm: seeds that nobody knows keep them from
 * choosing what all falls into one place.
 */
#ifndef GNOMON_TABLES_NUMBER_SLOTS_H
#define GNOMON_TABLES_NUMBER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GN_NO_NUMBER UINT32_MAX

struct gn_slot {
	uint32_t hash;
	uint32_t number; /* and one; 0: the slot is empty */
};

struct gn_slots {
	struct gn_slot *slot;
	uint32_t n, n_slots;
	uint64_t seeds[2];
};

/*
 * Well mixed bits of a hash and a word. Both have a seed of their own: a word that is known to make
 * one factor 0 would take what came before it out of the hash, and the seed with it.
 */
static inline uint64_t gn_mixed(const struct gn_slots *slots, uint64_t hash, uint64_t word)
{
	const unsigned __int128 product =
		(unsigned __int128)(hash ^ slots->seeds[0]) * (word ^ slots->seeds[1]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t gn_mixed_bytes(const struct gn_slots *slots, uint64_t hash,
				      const void *bytes, size_t n)
{
	const char *next = bytes;
	uint64_t word;

	hash ^= n;
	for (; n >= sizeof(word); n -= sizeof(word), next += sizeof(word)) {
		memcpy(&word, next, sizeof(word));
		hash = gn_mixed(slots, hash, word);
	}
	word = 0;
	memcpy(&word, next, n);
	return gn_mixed(slots, hash, word);
}

/* Make the first slots, if there are none; -ENOMEM without memory. */
int gn_slots_begin(struct gn_slots *slots);

/*
 * What is kept of a hash. It is mixed once more: of keys at equal distances one product makes
 * hashes at nearly equal distances, and with one seed in some hundreds these lie close together.
 */
static inline uint32_t gn_slots_hash(const struct gn_slots *slots, uint64_t hash)
{
	return (uint32_t)gn_mixed(slots, hash, 0);
}

/* The slot of what `is_it` says has the number that is sought, or the empty one where it belongs.
 */
static inline struct gn_slot *gn_slots_place(const struct gn_slots *slots, uint32_t hash,
					     bool (*is_it)(const void *table, uint32_t number,
							   const void *sought),
					     const void *table, const void *sought)
{
	struct gn_slot *slot = &slots->slot[hash & (slots->n_slots - 1)];

	while (slot->number && (slot->hash != hash || !is_it(table, slot->number - 1, sought)))
		slot = slot + 1 == slots->slot + slots->n_slots ? slots->slot : slot + 1;
	return slot;
}

/*
 * Put a number into the empty slot where it belongs; the number, or -ENOMEM without memory, with
 * all as it was.
 */
int64_t gn_slots_put(struct gn_slots *slots, struct gn_slot *slot, uint32_t hash, uint32_t number);

void gn_slots_free(struct gn_slots *slots);

/*
 * Room for one element more in an array; its new place, or NULL without memory, with the array as
 * it was.
 */
void *gn_with_room(void *array, uint32_t n, uint32_t *room, size_t element_bytes);

#endif
