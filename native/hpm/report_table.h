/* Tables of a text: a name, a value, what is known of it over tasks, and a remark. */
#ifndef GNOMON_HPM_REPORT_TABLE_H
#define GNOMON_HPM_REPORT_TABLE_H

#include "atomic_file.h"
#include "gnomon/hpm_data.h"

enum {
	HPM_CELL_NAME,
	HPM_CELL_VALUE,
	HPM_CELL_MINIMUM,
	HPM_CELL_MAXIMUM,
	HPM_CELL_DEVIATION,
	HPM_CELL_REMARK,
	HPM_CELLS,
};

/* Rows that are printed once the widths of their columns are known. Zero before. */
struct hpm_table {
	char *(*row)[HPM_CELLS];
	int n;
	int room;
	int error;
	int has_spread;
	int has_tasks;		   /* its extremes are tasks', not of runs, say */
	const char *const *titles; /* of its HPM_CELLS columns; NULL: those of spreads */
};

/* Takes the cells: what malloc(3) gave, or NULL for want of memory. */
void hpm_table_add_cells(struct hpm_table *table, char *cell[HPM_CELLS]);
void hpm_table_add(struct hpm_table *table, char *name, char *value, char *remark);

/* The same with extremes and deviation, times `factor`; NULL: there are none. */
void hpm_table_add_spread(struct hpm_table *table, char *name, char *value,
			  const hpm_spread *spread, double factor, const char *unit, char *remark);

/* Prints the table, under its heading if it has any rows, and empties it. */
void hpm_table_print(struct gn_atomic_file *output, struct hpm_table *table, const char *heading);

/* Texts from malloc(3), NULL for want of memory. */
__attribute__((format(printf, 1, 2))) char *hpm_formatted(const char *format, ...);
char *hpm_table_quantity(double value, const char *unit);
char *hpm_joined(char *first, char *second); /* "a; b" of what is not empty; takes both */

/* How many tasks have which values: bars, under a heading. Nothing where there are no bins. */
void hpm_histogram_print(struct gn_atomic_file *output, const char *name, const hpm_spread *spread,
			 const char *unit);

#endif
