/*
 * Which function an address is in, and which functions are inlined there, with their call lines.
 */
#pragma once

#include "dwarf.h"

#define GN_NO_CALL UINT32_MAX

/* A function's code, or what is left of an inlined one in it. */
struct gn_call {
	uint64_t entry;	 /* offset in .debug_info */
	uint64_t start;	 /* of its code */
	uint32_t parent; /* what it is inlined in, GN_NO_CALL for a function of its own */
	uint32_t unit;
	uint32_t file, line; /* of the call, where it is inlined */
};

/* Reads a unit's entries. `calls` gets those that hold one of the sorted addresses whose unit this
 * is, `innermost` the number of the deepest of each. Without addresses, only scopes are noted. */
void gn_dwarf_calls(struct gn_dwarf *dwarf, struct gn_unit *unit, uint32_t unit_number,
		    const uint64_t *addresses, const uint32_t *unit_of, size_t n,
		    struct gn_vector *calls, uint32_t *innermost);
