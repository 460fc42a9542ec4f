#include "rule_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 256u
/* 16 MB; a program has some ten thousand addresses that are ever sampled. Then it begins anew. */
#define SLOTS_MAX (1u << 20)
#define ROWS_MAX (1u << 16)

void gn_rule_cache_free(struct gn_rule_cache *cache)
{
	free(cache->slots);
	free(cache->rows);
	free(cache->by_contents);
	*cache = (struct gn_rule_cache){0};
}

static void insert(struct gn_rule_cache *cache, uint64_t key, uint32_t row)
{
	uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);

	while (cache->slots[slot & (cache->n_slots - 1)].key)
		slot++;
	cache->slots[slot & (cache->n_slots - 1)] = (struct gn_cache_slot){key, row};
	cache->n_used++;
}

/* At most half of the slots are used. */
static bool make_room(struct gn_rule_cache *cache)
{
	struct gn_cache_slot *old = cache->slots;
	const uint32_t n_old = cache->n_slots;

	if (cache->n_used + 1 <= cache->n_slots / 2)
		return true;
	if (n_old == SLOTS_MAX) {
		memset(cache->slots, 0, n_old * sizeof(*cache->slots));
		cache->n_used = 0;
		return true;
	}
	cache->slots = calloc(n_old ? 2 * n_old : SLOTS_MIN, sizeof(*cache->slots));
	if (!cache->slots) {
		cache->slots = old;
		return false;
	}
	cache->n_slots = n_old ? 2 * n_old : SLOTS_MIN;
	cache->n_used = 0;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].key)
			insert(cache, old[i].key, old[i].row);
	free(old);
	return true;
}

static size_t used_bytes(const struct gn_rule_row *row)
{
	return offsetof(struct gn_rule_row, rules) + row->n_rules * sizeof(row->rules[0]);
}

static uint32_t hash(const struct gn_rule_row *row)
{
	const uint8_t *bytes = (const uint8_t *)row;
	uint64_t sum = 0;

	/* A row is a multiple of four bytes long. */
	for (size_t i = 0; i < used_bytes(row); i += 4) {
		uint32_t word;

		memcpy(&word, bytes + i, 4);
		sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 29;
	}
	return (uint32_t)sum;
}

static void forget_all(struct gn_rule_cache *cache)
{
	if (cache->slots)
		memset(cache->slots, 0, cache->n_slots * sizeof(*cache->slots));
	cache->n_used = 0;
	memset(cache->by_contents, 0xff, cache->n_by_contents * sizeof(*cache->by_contents));
	cache->n_rows = 0;
}

static bool make_room_for_row(struct gn_rule_cache *cache)
{
	struct gn_rule_row *rows;
	uint32_t *by_contents, n;

	if (cache->n_rows < cache->rows_capacity)
		return true;
	if (cache->n_rows == ROWS_MAX) {
		forget_all(cache);
		return true;
	}
	n = cache->rows_capacity ? 2 * cache->rows_capacity : 64;
	rows = realloc(cache->rows, n * sizeof(*rows));
	if (!rows)
		return false;
	cache->rows = rows;
	by_contents = malloc(2 * n * sizeof(*by_contents));
	if (!by_contents)
		return false;
	free(cache->by_contents);
	memset(by_contents, 0xff, 2 * n * sizeof(*by_contents));
	cache->by_contents = by_contents;
	cache->n_by_contents = 2 * n;
	cache->rows_capacity = n;
	for (uint32_t i = 0; i < cache->n_rows; i++) {
		uint32_t slot = hash(&rows[i]);

		while (by_contents[slot & (2 * n - 1)] != UINT32_MAX)
			slot++;
		by_contents[slot & (2 * n - 1)] = i;
	}
	return true;
}

static uint32_t number_of(struct gn_rule_cache *cache, const struct gn_rule_row *row)
{
	uint32_t slot = hash(row), *place;

	if (!make_room_for_row(cache))
		return GN_ROW_NONE;
	for (;; slot++) {
		place = &cache->by_contents[slot & (cache->n_by_contents - 1)];
		if (*place == UINT32_MAX)
			break;
		if (cache->rows[*place].n_rules == row->n_rules &&
		    !memcmp(&cache->rows[*place], row, used_bytes(row)))
			return *place;
	}
	*place = cache->n_rows;
	cache->rows[cache->n_rows] = *row;
	return cache->n_rows++;
}

uint32_t gn_rule_cache_put(struct gn_rule_cache *cache, uint64_t key, uint32_t number,
			   const struct gn_rule_row *row)
{
	if (row)
		number = number_of(cache, row);
	if (make_room(cache))
		insert(cache, key, number);
	return number;
}
