/*
 * A hash table with open addressing. Its entries are of one size, and each begins with its hash,
 * uint32_t, which is 0 in a free one. Memory is not malloc's (own_calls.h). Those that look
 * something up do so by loops of their own, which compare what their entries have.
 */
#ifndef GNOMON_HASH_TABLE_H
#define GNOMON_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct gn_hash_table {
	void *entry; /* NULL: none yet */
	uint32_t mask, n;
};

/* Not 0. Of what bits differ in both words, those above the middle differ in the hash's lowest. */
static inline uint32_t gn_hash_of(uint64_t a, uint64_t b)
{
	const uint64_t mixed = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(mixed >> 32) | UINT32_C(1) << 31;
}

static inline void *gn_hash_table_entry(const struct gn_hash_table *table, uint32_t entry_bytes,
					uint32_t i)
{
	return (char *)table->entry + (size_t)(i & table->mask) * entry_bytes;
}

int gn_hash_table_grow(struct gn_hash_table *table, uint32_t entry_bytes);

/* Before one is added: 0, or a negative errno without memory. Entries may move. */
static inline int gn_hash_table_make_room(struct gn_hash_table *table, uint32_t entry_bytes)
{
	if (__builtin_expect(table->entry && 2 * table->n <= table->mask, 1))
		return 0;
	return gn_hash_table_grow(table, entry_bytes);
}

/* The table is empty then. */
void gn_hash_table_free(struct gn_hash_table *table, uint32_t entry_bytes);

/* Takes an entry out; others may move. */
void gn_hash_table_take_out(struct gn_hash_table *table, uint32_t entry_bytes, void *entry);

#endif
