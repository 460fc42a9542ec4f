#include "hash_table.h"

#include <errno.h>
#include <string.h>

#include "own_calls.h"

#define FIRST 64u

static uint32_t hash_at(const struct gn_hash_table *table, uint32_t entry_bytes, uint32_t i)
{
	return *(const uint32_t *)gn_hash_table_entry(table, entry_bytes, i);
}

int gn_hash_table_grow(struct gn_hash_table *table, uint32_t entry_bytes)
{
	struct gn_hash_table larger = {.n = table->n};

	larger.mask = table->entry ? 2 * table->mask + 1 : FIRST - 1;
	larger.entry = gn_take_memory(((size_t)larger.mask + 1) * entry_bytes);
	if (!larger.entry)
		return -ENOMEM;
	for (uint32_t i = 0; table->entry && i <= table->mask; i++) {
		uint32_t slot = hash_at(table, entry_bytes, i);

		if (!slot)
			continue;
		while (hash_at(&larger, entry_bytes, slot))
			slot++;
		memcpy(gn_hash_table_entry(&larger, entry_bytes, slot),
		       gn_hash_table_entry(table, entry_bytes, i), entry_bytes);
	}
	gn_hash_table_free(table, entry_bytes);
	*table = larger;
	return 0;
}

void gn_hash_table_free(struct gn_hash_table *table, uint32_t entry_bytes)
{
	gn_give_memory(table->entry, ((size_t)table->mask + 1) * entry_bytes);
	*table = (struct gn_hash_table){NULL, 0, 0};
}

void gn_hash_table_take_out(struct gn_hash_table *table, uint32_t entry_bytes, void *entry)
{
	uint32_t gap = (uint32_t)(((char *)entry - (char *)table->entry) / entry_bytes);

	/* Those that come behind it may have been pushed there by it. */
	for (uint32_t i = gap + 1; hash_at(table, entry_bytes, i); i++) {
		const uint32_t wanted = hash_at(table, entry_bytes, i) & table->mask;

		if (((i - wanted) & table->mask) >= ((i - gap) & table->mask)) {
			memcpy(gn_hash_table_entry(table, entry_bytes, gap),
			       gn_hash_table_entry(table, entry_bytes, i), entry_bytes);
			gap = i;
		}
	}
	*(uint32_t *)gn_hash_table_entry(table, entry_bytes, gap) = 0;
	table->n--;
}
