/*
 * The text symbols of a program, as GNU gprof chooses them for histograms and arcs of gmon.out:
 * those of .symtab alone, one for each address.
 */
#pragma once

#include "elf_file.h"

enum { GN_TEXT_SYMBOL_IS_STATIC = 1, GN_TEXT_SYMBOL_IS_FUNCTION = 2 };

struct gn_text_symbol {
	uint64_t start, end; /* `end` is the next one's start, or that of what follows the text */
	const char *name;
	uint32_t flags, position; /* the position is that in the file */
};

struct gn_text_symbols {
	struct gn_vector symbols;      /* struct gn_text_symbol, ascending */
	uint64_t text_start, text_end; /* of the section .text */
};

/* False where the program has no section .text. */
bool gn_text_symbols_find(struct gn_text_symbols *found, struct gn_elf *module);
void gn_text_symbols_free(struct gn_text_symbols *found);
