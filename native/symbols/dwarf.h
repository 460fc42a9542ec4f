/*
 * Debug information, DWARF 2 to 5: units, entries and their attributes (dwarfstd.org; DWARF 5,
 * chapters 2 and 7).
 */
#pragma once

#include "elf_file.h"
#include "intervals.h"

enum {
	DW_TAG_class_type = 0x02,
	DW_TAG_structure_type = 0x13,
	DW_TAG_union_type = 0x17,
	DW_TAG_inlined_subroutine = 0x1d,
	DW_TAG_module = 0x1e,
	DW_TAG_subprogram = 0x2e,
	DW_TAG_namespace = 0x39,
};

enum {
	DW_AT_name = 0x03,
	DW_AT_stmt_list = 0x10,
	DW_AT_low_pc = 0x11,
	DW_AT_high_pc = 0x12,
	DW_AT_language = 0x13,
	DW_AT_comp_dir = 0x1b,
	DW_AT_abstract_origin = 0x31,
	DW_AT_specification = 0x47,
	DW_AT_ranges = 0x55,
	DW_AT_call_file = 0x58,
	DW_AT_call_line = 0x59,
	DW_AT_linkage_name = 0x6e,
	DW_AT_str_offsets_base = 0x72,
	DW_AT_addr_base = 0x73,
	DW_AT_rnglists_base = 0x74,
	DW_AT_MIPS_linkage_name = 0x2007,
	DW_AT_GNU_ranges_base = 0x2132,
	DW_AT_GNU_addr_base = 0x2133,
};

enum {
	DW_FORM_addr = 0x01,
	DW_FORM_block2 = 0x03,
	DW_FORM_block4 = 0x04,
	DW_FORM_data2 = 0x05,
	DW_FORM_data4 = 0x06,
	DW_FORM_data8 = 0x07,
	DW_FORM_string = 0x08,
	DW_FORM_block = 0x09,
	DW_FORM_block1 = 0x0a,
	DW_FORM_data1 = 0x0b,
	DW_FORM_flag = 0x0c,
	DW_FORM_sdata = 0x0d,
	DW_FORM_strp = 0x0e,
	DW_FORM_udata = 0x0f,
	DW_FORM_ref_addr = 0x10,
	DW_FORM_ref1 = 0x11,
	DW_FORM_ref2 = 0x12,
	DW_FORM_ref4 = 0x13,
	DW_FORM_ref8 = 0x14,
	DW_FORM_ref_udata = 0x15,
	DW_FORM_indirect = 0x16,
	DW_FORM_sec_offset = 0x17,
	DW_FORM_exprloc = 0x18,
	DW_FORM_flag_present = 0x19,
	DW_FORM_strx = 0x1a,
	DW_FORM_addrx = 0x1b,
	DW_FORM_ref_sup4 = 0x1c,
	DW_FORM_strp_sup = 0x1d,
	DW_FORM_data16 = 0x1e,
	DW_FORM_line_strp = 0x1f,
	DW_FORM_ref_sig8 = 0x20,
	DW_FORM_implicit_const = 0x21,
	DW_FORM_loclistx = 0x22,
	DW_FORM_rnglistx = 0x23,
	DW_FORM_ref_sup8 = 0x24,
	DW_FORM_strx1 = 0x25,
	DW_FORM_strx2 = 0x26,
	DW_FORM_strx3 = 0x27,
	DW_FORM_strx4 = 0x28,
	DW_FORM_addrx1 = 0x29,
	DW_FORM_addrx2 = 0x2a,
	DW_FORM_addrx3 = 0x2b,
	DW_FORM_addrx4 = 0x2c,
	DW_FORM_GNU_addr_index = 0x1f01,
	DW_FORM_GNU_str_index = 0x1f02,
	DW_FORM_GNU_ref_alt = 0x1f20,
	DW_FORM_GNU_strp_alt = 0x1f21,
};

struct gn_attribute {
	uint16_t name, form;
	int64_t constant; /* of DW_FORM_implicit_const */
};

struct gn_abbreviation {
	uint64_t code;
	uint16_t tag;
	bool has_children;
	uint32_t first, n; /* of the table's attributes */
	int32_t size;	   /* of an entry's attributes; -1 if entries differ */
};

struct gn_abbreviations {
	struct gn_abbreviations *next;
	uint64_t offset;
	uint8_t address_size, offset_size, version;
	struct gn_vector of, attributes; /* struct gn_abbreviation, struct gn_attribute */
};

/* Files of a unit's line table. */
struct gn_line_files {
	struct gn_vector folders, files; /* const char *; struct gn_line_file */
	uint32_t first;			 /* the number of the first of them: 0 or 1 */
	uint64_t program, end;		 /* of the rows, in .debug_line */
	uint8_t minimum, operations_max, default_is_stmt, opcode_base;
	int8_t line_base;
	uint8_t line_range;
	uint8_t operands[256];
};

struct gn_line_file {
	const char *name;
	uint64_t folder;
};

/* An entry whose name needs what it stands in. */
struct gn_scope {
	uint64_t offset;
	uint32_t parent; /* UINT32_MAX: the unit itself */
};

struct gn_unit {
	uint64_t offset, end, first_entry;
	uint8_t version, address_size, offset_size, type;
	const struct gn_abbreviations *abbreviations;
	uint64_t str_offsets_base, addr_base, rnglists_base, low_pc, line_offset;
	bool has_lines;
	uint16_t language;
	const char *name, *folder;
	bool was_read;		 /* its entries, with what follows of them */
	struct gn_vector scopes; /* struct gn_scope, by offset; filled where entries were read */
	struct gn_line_files *files; /* of its line table, once read */
};

struct gn_dwarf {
	struct gn_elf *file;	     /* what holds the sections */
	const struct gn_elf *module; /* what tells what is code */
	struct gn_arena *arena;
	struct gn_dwarf *alternate; /* of dwz, or NULL */
	struct gn_span info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
	struct gn_vector units; /* struct gn_unit, by offset */
	struct gn_abbreviations *tables[256];
};

struct gn_value {
	uint16_t form;
	uint64_t number;  /* also of addresses, offsets and references */
	const char *text; /* NULL if it is none */
};

/* Reads the units' headers and what the first entry of each says. */
void gn_dwarf_open(struct gn_dwarf *dwarf, struct gn_elf *file, const struct gn_elf *module,
		   struct gn_dwarf *alternate);
void gn_dwarf_close(struct gn_dwarf *dwarf);

/* The unit that holds an offset of .debug_info, NULL if none does. */
struct gn_unit *gn_dwarf_unit(struct gn_dwarf *dwarf, uint64_t offset);

struct gn_cursor gn_dwarf_cursor(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
				 uint64_t offset);

/* The abbreviation of the entry at the cursor; NULL at the end of a list of siblings, and where
 * nothing sensible stands (then the cursor is bad). */
const struct gn_abbreviation *gn_dwarf_entry(const struct gn_unit *unit, struct gn_cursor *cursor);
const struct gn_attribute *gn_dwarf_attributes(const struct gn_unit *unit,
					       const struct gn_abbreviation *abbreviation);
void gn_dwarf_value(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
		    const struct gn_attribute *attribute, struct gn_cursor *cursor,
		    struct gn_value *value);
void gn_dwarf_skip(const struct gn_unit *unit, const struct gn_attribute *attribute,
		   struct gn_cursor *cursor);
void gn_dwarf_skip_all(const struct gn_unit *unit, const struct gn_abbreviation *abbreviation,
		       struct gn_cursor *cursor);

/* An attribute as text or number by its form: strings, addresses and their indexes. */
const char *gn_dwarf_text(const struct gn_dwarf *dwarf, const struct gn_unit *unit, uint16_t form,
			  uint64_t number);
uint64_t gn_dwarf_indexed_address(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
				  uint64_t index);

/* What a reference refers to: false where it is none, or goes astray. */
bool gn_dwarf_follow(struct gn_dwarf **dwarf, const struct gn_unit *unit,
		     const struct gn_value *value, uint64_t *offset);
