/* Numbers from 0 on for texts, in the order in which they came; who uses it keeps the texts. */
#ifndef GNOMON_TABLES_TEXT_TABLE_H
#define GNOMON_TABLES_TEXT_TABLE_H

#include "number_slots.h"

struct gn_text {
	const char *begin;
	size_t length;
};

struct gn_text_table {
	struct gn_slots slots; /* n: how many texts there are */
	struct gn_text *texts; /* by number */
	uint32_t room;
};

/* The number of a text, a new one if it has none; -ENOMEM without memory. */
int64_t gn_text_number(struct gn_text_table *table, struct gn_text text);

void gn_text_table_free(struct gn_text_table *table);

#endif
