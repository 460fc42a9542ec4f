/*
 * Source: Linux Standard Base Core 5.0, 10.6 (the layout of .eh_frame); DWARF 5, 6.4.1.
 */
#include "unwind_bounds.h"

/* Encodings of pointers, DW_EH_PE_*. */
enum {
	FORMAT = 0x0f,
	ABSOLUTE = 0x00,
	ULEB = 0x01,
	UNSIGNED_2 = 0x02,
	UNSIGNED_4 = 0x03,
	UNSIGNED_8 = 0x04,
	SLEB = 0x09,
	SIGNED_2 = 0x0a,
	SIGNED_4 = 0x0b,
	SIGNED_8 = 0x0c,
	RELATIVE = 0x70,
	TO_ITSELF = 0x10,
	OMITTED = 0xff,
};

/* The section and its place, and the last entry whose encoding was looked up. */
struct entries {
	struct gn_span section;
	uint64_t address;
	bool is_wide, is_swapped;
	uint64_t cie;
	uint8_t cie_encoding;
};

static uint64_t read_pointer(const struct entries *entries, struct gn_cursor *cursor,
			     uint8_t encoding)
{
	const uint64_t here = entries->address + (uint64_t)(cursor->next - entries->section.data);
	uint64_t value = 0;

	switch (encoding & FORMAT) {
	case ABSOLUTE:
		value = entries->is_wide ? gn_u64(cursor) : gn_u32(cursor);
		break;
	case ULEB:
		value = gn_uleb(cursor);
		break;
	case SLEB:
		value = (uint64_t)gn_sleb(cursor);
		break;
	case UNSIGNED_2:
		value = gn_u16(cursor);
		break;
	case SIGNED_2:
		value = (uint64_t)(int16_t)gn_u16(cursor);
		break;
	case UNSIGNED_4:
		value = gn_u32(cursor);
		break;
	case SIGNED_4:
		value = (uint64_t)(int32_t)gn_u32(cursor);
		break;
	case UNSIGNED_8:
	case SIGNED_8:
		value = gn_u64(cursor);
		break;
	default:
		gn_fail(cursor);
	}
	if ((encoding & RELATIVE) == TO_ITSELF)
		value += here;
	else if (encoding & RELATIVE)
		gn_fail(cursor);
	return entries->is_wide ? value : (uint32_t)value;
}

/* How the common information entry at an offset encodes addresses of code; OMITTED: not to say. */
static uint8_t encoding_of(struct entries *entries, uint64_t offset)
{
	struct gn_cursor cursor = gn_cursor_new(entries->section, offset, entries->is_swapped);
	const bool is_long = gn_u32(&cursor) == UINT32_MAX;
	uint8_t version, encoding = ABSOLUTE;
	const char *augmentation;

	gn_skip(&cursor, is_long ? 8 : 0);
	if (is_long ? gn_u64(&cursor) : gn_u32(&cursor))
		return OMITTED;
	version = gn_u8(&cursor);
	augmentation = gn_text(&cursor);
	if (!augmentation || !version || version > 4 || !strcmp(augmentation, "eh"))
		return OMITTED;
	if (version == 4)
		gn_skip(&cursor, 2);
	gn_uleb(&cursor);
	gn_sleb(&cursor);
	if (version == 1)
		gn_u8(&cursor);
	else
		gn_uleb(&cursor);
	if (*augmentation != 'z')
		return cursor.is_bad ? OMITTED : ABSOLUTE;
	gn_uleb(&cursor);
	for (const char *letter = augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			encoding = gn_u8(&cursor);
		else if (*letter == 'L')
			gn_u8(&cursor);
		else if (*letter == 'P')
			read_pointer(entries, &cursor, gn_u8(&cursor) & (FORMAT | RELATIVE));
		else if (*letter != 'S' && *letter != 'B' && *letter != 'G')
			break;
	}
	return cursor.is_bad ? OMITTED : encoding;
}

void gn_unwind_bounds(struct gn_intervals *bounds, struct gn_elf *module)
{
	const struct gn_section *section = gn_elf_section(module, ".eh_frame");
	struct entries entries;
	struct gn_cursor cursor;

	if (!section)
		return;
	entries = (struct entries){section->content,   section->address, module->is_wide,
				   module->is_swapped, UINT64_MAX,	 OMITTED};
	cursor = gn_cursor_new(section->content, 0, module->is_swapped);
	while (gn_left(&cursor) >= 4) {
		uint64_t length = gn_u32(&cursor), id_offset, id, start, size;
		struct gn_cursor entry;
		bool is_long = length == UINT32_MAX;

		if (is_long)
			length = gn_u64(&cursor);
		if (!length || length > gn_left(&cursor))
			break;
		entry = cursor;
		entry.end = cursor.next + length;
		gn_skip(&cursor, length);
		id_offset = (uint64_t)(entry.next - section->content.data);
		id = is_long ? gn_u64(&entry) : gn_u32(&entry);
		if (!id || id > id_offset)
			continue;
		if (id_offset - id != entries.cie) {
			entries.cie = id_offset - id;
			entries.cie_encoding = encoding_of(&entries, entries.cie);
		}
		if (entries.cie_encoding == OMITTED)
			continue;
		start = read_pointer(&entries, &entry, entries.cie_encoding);
		size = read_pointer(&entries, &entry, entries.cie_encoding & FORMAT);
		if (!entry.is_bad && gn_elf_is_code(module, start) && size <= UINT64_MAX - start)
			gn_intervals_add(bounds, start, start + size, 0);
	}
	gn_intervals_sort(bounds);
}
