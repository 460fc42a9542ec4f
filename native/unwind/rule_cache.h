/* Rows by address: a file has few different ones, so each is kept once and found by its number. */
#ifndef GN_RULE_CACHE_H
#define GN_RULE_CACHE_H

#include "rule_row.h"

/* Numbers that stand for no row. */
enum {
	GN_ROW_NONE = 0xfffffffe,
	/* The outermost function: nobody called it. */
	GN_ROW_ROOT = 0xfffffffd,
	GN_ROW_UNSEEN = 0xffffffff,
};

struct gn_cache_slot {
	uint64_t key;
	uint32_t row;
};

struct gn_rule_cache {
	struct gn_cache_slot *slots;
	uint32_t n_slots;
	uint32_t n_used;
	struct gn_rule_row *rows;
	uint32_t n_rows;
	uint32_t rows_capacity;
	/* Numbers of rows by what is in them. */
	uint32_t *by_contents;
	uint32_t n_by_contents;
};

void gn_rule_cache_free(struct gn_rule_cache *cache);

/* The number of the row kept under a key that is not 0, or GN_ROW_UNSEEN. */
static inline uint32_t gn_rule_cache_find(const struct gn_rule_cache *cache, uint64_t key)
{
	/* Source: Knuth, TAOCP 6.4: by the golden ratio. */
	uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);

	if (!cache->n_slots)
		return GN_ROW_UNSEEN;
	for (;; slot++) {
		const struct gn_cache_slot *entry = &cache->slots[slot & (cache->n_slots - 1)];

		if (entry->key == key)
			return entry->row;
		if (!entry->key)
			return GN_ROW_UNSEEN;
	}
}

/* Keeps a row, or one of the numbers above if `row` is NULL; its number. What does not fit is
 * forgotten, but the row of the last call is there until the next. */
uint32_t gn_rule_cache_put(struct gn_rule_cache *cache, uint64_t key, uint32_t number,
			   const struct gn_rule_row *row);

#endif
