/*
 * Where functions begin and end by a module's unwind entries (.eh_frame): what is left of functions
 * in a stripped module. Nearly all functions have one, and nearly all entries are functions.
 */
#pragma once

#include "elf_file.h"
#include "intervals.h"

/* Fills the bounds, sorted; those without any where the module has no entries. */
void gn_unwind_bounds(struct gn_intervals *bounds, struct gn_elf *module);
