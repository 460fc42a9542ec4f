/*
 * The names of functions in debug information.
 */
#pragma once

#include "dwarf.h"

/* The name of the function whose entry is at an offset, by the entries it refers to, demangled and
 * with what it stands in; false if it has none. */
bool gn_dwarf_name(struct gn_dwarf *dwarf, uint64_t offset, char *text, size_t size);
