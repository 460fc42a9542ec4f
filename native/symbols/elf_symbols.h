/*
 * Functions by the symbol tables of a module: .symtab and .dynsym of its own, those of its file of
 * debug information, and those of its MiniDebugInfo.
 */
#pragma once

#include "elf_file.h"

struct gn_function {
	uint64_t start, size, end_max;
	const char *name;
	uint32_t rank; /* of names of one address, the least is taken */
};

struct gn_elf_symbols {
	struct gn_vector functions;
};

/* Adds the functions of a file's tables. Addresses are code of the module, whatever the file. */
void gn_elf_symbols_add(struct gn_elf_symbols *symbols, struct gn_elf *file,
			const struct gn_elf *module);

/* The same of .gnu_debugdata, a compressed ELF file with nothing but symbols. */
void gn_elf_symbols_add_mini(struct gn_elf_symbols *symbols, struct gn_elf *module);
void gn_elf_symbols_sort(struct gn_elf_symbols *symbols);

/* The function that an address is in, NULL if no symbol holds it. */
const struct gn_function *gn_elf_symbols_find(const struct gn_elf_symbols *symbols,
					      uint64_t address);
void gn_elf_symbols_free(struct gn_elf_symbols *symbols);
