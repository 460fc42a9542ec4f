/*
 * The code of functions: where each begins and ends by its symbol, else by its unwind entry, and
 * its bytes.
 */
#pragma once

#include "elf_file.h"

#define GN_CODE_SIZE_MAX ((uint64_t)4 << 20) /* of one function; larger ones are left out */
#define GN_CODE_ALL_MAX ((uint64_t)64 << 20)
#define GN_NO_CODE UINT32_MAX

struct gn_code {
	uint64_t start;
	struct gn_span bytes; /* of the module's file */
};

struct gn_codes {
	struct gn_vector functions; /* struct gn_code, ascending */
	uint32_t *function_of;	    /* each address: its number, or GN_NO_CODE */
};

/* Finds the functions of sorted addresses; `function_of` lives in the module's arena. */
void gn_codes_find(struct gn_codes *codes, struct gn_elf *module, const uint64_t *addresses,
		   uint32_t n);
