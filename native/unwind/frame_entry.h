/* The entries of .eh_frame and .debug_frame: which one has an address, and what stands in it. */
#ifndef GN_FRAME_ENTRY_H
#define GN_FRAME_ENTRY_H

#include <stdint.h>

#include "elf_image.h"

/* Source: DWARF 5, 6.4.1; Linux Standard Base, "Exception Frames". FDE and CIE as one. */
struct gn_frame_entry {
	const struct gn_section *section;
	/* First address and the first one behind. */
	uint64_t start;
	uint64_t end;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_column;
	uint8_t pointer_encoding;
	bool is_signal_frame;
	bool is_debug_frame;
	/* The programs in the section: the CIE's and the FDE's. */
	uint64_t initial_at;
	uint64_t initial_end;
	uint64_t program_at;
	uint64_t program_end;
};

struct gn_entry_place {
	uint64_t start;
	uint64_t offset;
};

/* Where the entries of a section are, by address: only for a section without a header's table. */
struct gn_entry_table {
	struct gn_entry_place *places;
	uint32_t n;
};

struct gn_entry_index {
	const struct gn_elf_image *image;
	/* The header's table of pairs (address, entry), both relative to the header. */
	uint64_t header_at;
	uint64_t header_n;
	struct gn_entry_table eh_frame;
	struct gn_entry_table debug_frame;
};

int gn_entry_index_open(struct gn_entry_index *index, const struct gn_elf_image *image);
void gn_entry_index_close(struct gn_entry_index *index);
uint64_t gn_entry_index_count(const struct gn_entry_index *index);

/* -ENOENT: no entry has the address; -EBADMSG: it is damaged or says what is not understood. */
int gn_entry_find(const struct gn_entry_index *index, uint64_t address,
		  struct gn_frame_entry *entry);

#endif
