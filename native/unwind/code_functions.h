/*
 * The functions of a file that have no rules: where they are by its symbols, and their frames by
 * following their instructions from the first one on. x86-64.
 */
#ifndef GN_CODE_FUNCTIONS_H
#define GN_CODE_FUNCTIONS_H

#include "elf_image.h"
#include "rule_row.h"

struct gn_code_function;
struct gn_symbol_window;

struct gn_code_functions {
	/* Each as soon as an address of it is looked up. */
	struct gn_code_function *functions;
	uint32_t n;
	uint32_t capacity;
	struct gn_symbol_window *windows;
	uint32_t n_windows;
};

void gn_code_functions_free(struct gn_code_functions *functions);

/* The rules at a linked address. False if no function has it, or if its instructions do not tell.
 */
bool gn_code_functions_row(struct gn_code_functions *functions, const struct gn_elf_image *image,
			   uint64_t address, struct gn_rule_row *row);

#endif
