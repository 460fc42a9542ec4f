/* Numbers from 0 on for keys of three numbers each, in the order in which they came. */
#ifndef GNOMON_TABLES_KEY_TABLE_H
#define GNOMON_TABLES_KEY_TABLE_H

#include "number_slots.h"

struct gn_key {
	uint32_t part[3];
};

struct gn_key_table {
	struct gn_slots slots; /* n: how many keys there are */
	struct gn_key *keys;   /* by number */
	uint32_t room;
};

/* The number of a key, a new one if it has none; -ENOMEM without memory. */
int64_t gn_key_number(struct gn_key_table *table, struct gn_key key);

/* The number of a key, GN_NO_NUMBER if it has none. */
uint32_t gn_key_find(const struct gn_key_table *table, struct gn_key key);

void gn_key_table_free(struct gn_key_table *table);

#endif
