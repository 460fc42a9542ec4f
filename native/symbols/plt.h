/*
 * Stubs of the procedure linkage table, by the functions that they jump to: `memcpy@plt`.
 */
#pragma once

#include "elf_symbols.h"

/* Adds the stubs of a module for x86-64; others have none here. */
void gn_plt_add(struct gn_elf_symbols *symbols, struct gn_elf *module);
