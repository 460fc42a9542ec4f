/*
 * The addresses that an entry of the debug information covers (DWARF 5, 2.17).
 */
#pragma once

#include "dwarf.h"

/* What an entry says of its addresses, as it stands there. */
struct gn_extent {
	struct gn_value low, high, ranges; /* form 0: not there */
};

/* Calls `add` for each range that is code; returns the address of the first, the entry's own start,
 * or 0. */
uint64_t gn_dwarf_ranges(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
			 const struct gn_extent *extent,
			 void add(void *context, uint64_t start, uint64_t end), void *context);

/* Which unit covers which addresses, by the units' own ranges or by .debug_aranges for those that
 * say nothing; sorted. Values are numbers of units. */
void gn_dwarf_unit_ranges(struct gn_dwarf *dwarf, struct gn_intervals *intervals);
