/*
 * Numbers by keys of 64 bits: what was put is there, and keys that a file was made of so that the
 * hash without a seed of an earlier reader put all into one place are spread as any others.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "number_map.h"

#define N_KEYS 40000u
/* At three quarters of all slots random keys have runs of a few hundred, the others one of all. */
#define RUN_MOST 4000u

/* The number whose MurmurHash3 finalizer, which that reader had, is `hash`. */
static uint64_t key_with_hash(uint64_t hash)
{
	hash ^= hash >> 33;
	hash *= 0x9cb4b2f8129337dbull;
	hash ^= hash >> 33;
	hash *= 0x4f74430c22a54005ull;
	return hash ^ hash >> 33;
}

static uint32_t longest_run(const struct gn_slots *slots)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t slot = 0; slot < slots->n_slots; slot++) {
		run = slots->numbers[slot] ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void fill(struct gn_number_map *map, uint64_t (*key)(uint64_t))
{
	for (uint32_t i = 0; i < N_KEYS; i++)
		CHECK(gn_number_put(map, key(i), i) == 0);
}

static uint64_t alike(uint64_t i)
{
	return key_with_hash(i << 32);
}

static uint64_t in_order(uint64_t i)
{
	return i;
}

static void keys_keep_their_numbers(void)
{
	struct gn_number_map map = {0};

	CHECK(gn_number_of(&map, 7) == GN_NO_NUMBER);
	fill(&map, in_order);
	for (uint32_t i = 0; i < N_KEYS; i += 3)
		CHECK(gn_number_put(&map, i, i + 5) == 0);
	for (uint32_t i = 0; i < N_KEYS; i++)
		CHECK(gn_number_of(&map, i) == (i % 3 ? i : i + 5));
	CHECK(gn_number_of(&map, (uint64_t)1 << 32) == GN_NO_NUMBER);
	CHECK(gn_number_of(&map, N_KEYS) == GN_NO_NUMBER);
	gn_number_map_free(&map);
	CHECK(gn_number_of(&map, 0) == GN_NO_NUMBER);
}

static void chosen_keys_are_spread(void)
{
	struct gn_number_map map = {0}, other = {0};

	fill(&map, alike);
	fill(&other, alike);
	for (uint32_t i = 0; i < N_KEYS; i++)
		CHECK(gn_number_of(&map, alike(i)) == i);
	CHECK(longest_run(&map.keys.slots) < RUN_MOST);
	/* Nobody can know where a key will be. */
	CHECK(map.keys.slots.n_slots == other.keys.slots.n_slots);
	CHECK(memcmp(map.keys.slots.numbers, other.keys.slots.numbers,
		     map.keys.slots.n_slots * sizeof(*map.keys.slots.numbers)) != 0);
	gn_number_map_free(&map);
	gn_number_map_free(&other);
}

int main(void)
{
	RUN(keys_keep_their_numbers);
	RUN(chosen_keys_are_spread);
	return check_result;
}
