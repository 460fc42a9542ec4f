/* Rows in their order, of which there may be any number. */
#ifndef GNOMON_PERF_DATA_ROWS_H
#define GNOMON_PERF_DATA_ROWS_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gn_rows {
	void *row;
	size_t n, room;
};

/* A new row behind the others, all zero; NULL without memory. */
static inline void *gn_rows_add(struct gn_rows *rows, size_t row_bytes)
{
	char *row;

	if (rows->n == rows->room) {
		const size_t room = rows->room ? rows->room + rows->room / 2 : 64;
		void *more = realloc(rows->row, room * row_bytes);

		if (!more)
			return NULL;
		rows->row = more;
		rows->room = room;
	}
	row = (char *)rows->row + rows->n++ * row_bytes;
	return memset(row, 0, row_bytes);
}

static inline void gn_rows_free(struct gn_rows *rows)
{
	free(rows->row);
	memset(rows, 0, sizeof(*rows));
}

#endif
