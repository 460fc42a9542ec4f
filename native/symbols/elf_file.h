/*
 * A program, library or file of debug information: its sections, its build id, its code.
 *
 * ELF of 32 and 64 bits in either byte order (gabi.xinuos.com).
 */
#pragma once

#include "bytes.h"
#include "memory.h"

#include <elf.h>

enum { GN_BUILD_ID_MAX = 64 };

struct gn_section {
	const char *name;
	uint32_t type, link;
	uint64_t flags, address, offset, size, entry_size;
	struct gn_span content; /* decompressed; of no size where the file does not hold it */
	bool is_loaded;
};

struct gn_segment {
	uint64_t address, size;
	struct gn_span content; /* what the file holds of it */
};

struct gn_elf {
	struct gn_arena *arena;
	struct gn_span file;
	void *mapping; /* of the file; NULL for one in memory */
	bool is_wide, is_swapped;
	uint16_t machine;
	struct gn_section *sections;
	uint32_t n_sections;
	struct gn_segment *code; /* what is executable */
	uint32_t n_code;
	uint8_t build_id[GN_BUILD_ID_MAX];
	uint32_t build_id_size; /* 0: none */
};

/* 0, -ENOEXEC for what is no ELF file, or why it cannot be read. */
int gn_elf_open(struct gn_elf *elf, struct gn_arena *arena, const char *path);
int gn_elf_parse(struct gn_elf *elf, struct gn_arena *arena, struct gn_span file);
void gn_elf_close(struct gn_elf *elf);

/* NULL where there is none of that name with content. */
const struct gn_section *gn_elf_section(struct gn_elf *elf, const char *name);
struct gn_span gn_elf_content(struct gn_elf *elf, const char *name);

/* The section of a number, with its content; NULL where there is none. */
const struct gn_section *gn_elf_section_at(struct gn_elf *elf, uint32_t number);

/* Whether an address is in code. Debug information says 0 of functions that the linker dropped. */
bool gn_elf_is_code(const struct gn_elf *elf, uint64_t address);

/* The bytes of some code; none where the file does not hold all of it. */
struct gn_span gn_elf_code(const struct gn_elf *elf, uint64_t address, uint64_t size);
