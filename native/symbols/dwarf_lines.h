/*
 * Line tables, DWARF 2 to 5 (DWARF 5, 6.2).
 */
#pragma once

#include "dwarf.h"

/* The line of an address. */
struct gn_line {
	uint32_t file, line; /* by the number of the unit's table */
	bool is_set;
};

/* The header of the unit's table, NULL if it has none that makes sense. */
struct gn_line_files *gn_line_files(struct gn_dwarf *dwarf, struct gn_unit *unit);

/* The path of a file by its number; false if there is none of that number. */
bool gn_line_path(const struct gn_unit *unit, const struct gn_line_files *files, uint64_t number,
		  char *path, size_t size);

/* Finds the lines of sorted addresses, of those whose unit is this one. */
void gn_lines(struct gn_dwarf *dwarf, struct gn_unit *unit, uint32_t unit_number,
	      const uint64_t *addresses, const uint32_t *unit_of, size_t n, struct gn_line *lines);
