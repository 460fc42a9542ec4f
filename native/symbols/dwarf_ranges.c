#include "dwarf_ranges.h"

enum {
	DW_RLE_end_of_list,
	DW_RLE_base_addressx,
	DW_RLE_startx_endx,
	DW_RLE_startx_length,
	DW_RLE_offset_pair,
	DW_RLE_base_address,
	DW_RLE_start_end,
	DW_RLE_start_length,
};

struct sink {
	const struct gn_dwarf *dwarf;
	void (*add)(void *context, uint64_t start, uint64_t end);
	void *context;
	uint64_t first;
};

static void add_range(struct sink *sink, uint64_t start, uint64_t end)
{
	if (start >= end || !gn_elf_is_code(sink->dwarf->module, start))
		return;
	if (!sink->first)
		sink->first = start;
	sink->add(sink->context, start, end);
}

static uint64_t address_of(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
			   const struct gn_value *value)
{
	return value->form == DW_FORM_addr ? value->number
					   : gn_dwarf_indexed_address(dwarf, unit, value->number);
}

static bool is_address(uint16_t form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

/* DWARF 2 to 4: pairs of offsets from a base. */
static void read_pairs(const struct gn_unit *unit, uint64_t offset, struct sink *sink)
{
	const unsigned int size = unit->address_size;
	const uint64_t selects_base = size >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
	struct gn_cursor cursor =
		gn_cursor_new(sink->dwarf->ranges, offset, sink->dwarf->file->is_swapped);
	uint64_t base = unit->low_pc;

	while (!cursor.is_bad) {
		const uint64_t start = gn_read(&cursor, size), end = gn_read(&cursor, size);

		if (cursor.is_bad || (!start && !end))
			return;
		if (start == selects_base)
			base = end;
		else
			add_range(sink, base + start, base + end);
	}
}

static void read_list(const struct gn_unit *unit, uint64_t offset, struct sink *sink)
{
	const struct gn_dwarf *dwarf = sink->dwarf;
	struct gn_cursor cursor = gn_cursor_new(dwarf->rnglists, offset, dwarf->file->is_swapped);
	uint64_t base = unit->low_pc, start, end;

	while (!cursor.is_bad) {
		const uint8_t kind = gn_u8(&cursor);

		start = end = 0;
		switch (kind) {
		case DW_RLE_base_addressx:
			base = gn_dwarf_indexed_address(dwarf, unit, gn_uleb(&cursor));
			continue;
		case DW_RLE_base_address:
			base = gn_read(&cursor, unit->address_size);
			continue;
		case DW_RLE_startx_endx:
			start = gn_dwarf_indexed_address(dwarf, unit, gn_uleb(&cursor));
			end = gn_dwarf_indexed_address(dwarf, unit, gn_uleb(&cursor));
			break;
		case DW_RLE_startx_length:
			start = gn_dwarf_indexed_address(dwarf, unit, gn_uleb(&cursor));
			end = start + gn_uleb(&cursor);
			break;
		case DW_RLE_offset_pair:
			start = base + gn_uleb(&cursor);
			end = base + gn_uleb(&cursor);
			break;
		case DW_RLE_start_end:
			start = gn_read(&cursor, unit->address_size);
			end = gn_read(&cursor, unit->address_size);
			break;
		case DW_RLE_start_length:
			start = gn_read(&cursor, unit->address_size);
			end = start + gn_uleb(&cursor);
			break;
		default: /* DW_RLE_end_of_list, too */
			return;
		}
		if (!cursor.is_bad)
			add_range(sink, start, end);
	}
}

static void read_ranges(const struct gn_unit *unit, const struct gn_value *ranges,
			struct sink *sink)
{
	const struct gn_dwarf *dwarf = sink->dwarf;
	uint64_t offset = ranges->number;

	if (unit->version < 5) {
		read_pairs(unit, offset, sink);
		return;
	}
	if (ranges->form == DW_FORM_rnglistx) {
		struct gn_cursor cursor;

		if (ranges->number > dwarf->rnglists.size)
			return;
		cursor = gn_cursor_new(dwarf->rnglists,
				       unit->rnglists_base + offset * unit->offset_size,
				       dwarf->file->is_swapped);
		offset = unit->rnglists_base + gn_read(&cursor, unit->offset_size);
		if (cursor.is_bad)
			return;
	}
	read_list(unit, offset, sink);
}

uint64_t gn_dwarf_ranges(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
			 const struct gn_extent *extent,
			 void add(void *context, uint64_t start, uint64_t end), void *context)
{
	struct sink sink = {dwarf, add, context, 0};
	uint64_t low, high;

	if (extent->ranges.form) {
		read_ranges(unit, &extent->ranges, &sink);
	} else if (extent->low.form && extent->high.form) {
		low = address_of(dwarf, unit, &extent->low);
		high = is_address(extent->high.form) ? address_of(dwarf, unit, &extent->high)
						     : low + extent->high.number;
		add_range(&sink, low, high);
	}
	return sink.first;
}

/* --- units ------------------------------------------------------------------------------------ */

struct unit_sink {
	struct gn_intervals *intervals;
	uint32_t unit;
	bool has_any;
};

static void add_to_unit(void *context, uint64_t start, uint64_t end)
{
	struct unit_sink *sink = context;

	gn_intervals_add(sink->intervals, start, end, sink->unit);
	sink->has_any = true;
}

/* .debug_aranges, for units whose own entry covers nothing. */
static void add_address_ranges(struct gn_dwarf *dwarf, struct gn_intervals *intervals,
			       const bool *is_covered)
{
	const struct gn_unit *units = dwarf->units.data;
	const struct gn_span section = gn_elf_content(dwarf->file, ".debug_aranges");
	struct gn_cursor cursor = gn_cursor_new(section, 0, dwarf->file->is_swapped);

	while (gn_left(&cursor) > 4) {
		const uint64_t set = (uint64_t)(cursor.next - section.data);
		uint64_t length = gn_u32(&cursor), info;
		const unsigned int offset_size = length == UINT32_MAX ? 8 : 4;
		struct gn_cursor tuples;
		const struct gn_unit *unit;
		unsigned int size;

		if (offset_size == 8)
			length = gn_u64(&cursor);
		tuples = cursor;
		gn_skip(&cursor, length);
		if (cursor.is_bad)
			return;
		tuples.end = cursor.next;
		gn_u16(&tuples);
		info = gn_read(&tuples, offset_size);
		size = gn_u8(&tuples);
		gn_u8(&tuples);
		unit = gn_dwarf_unit(dwarf, info + 11);
		if (!size || size > 8 || !unit || is_covered[unit - units])
			continue;
		gn_skip(&tuples, -((uint64_t)(tuples.next - section.data) - set) % (2 * size));
		while (gn_left(&tuples) >= 2 * size) {
			const uint64_t start = gn_read(&tuples, size);
			const uint64_t bytes = gn_read(&tuples, size);

			if (gn_elf_is_code(dwarf->module, start) && bytes <= UINT64_MAX - start)
				gn_intervals_add(intervals, start, start + bytes,
						 (uint32_t)(unit - units));
		}
	}
}

void gn_dwarf_unit_ranges(struct gn_dwarf *dwarf, struct gn_intervals *intervals)
{
	const struct gn_unit *units = dwarf->units.data;
	bool *is_covered = gn_arena_array(dwarf->arena, dwarf->units.n, sizeof(*is_covered));
	bool is_complete = true;

	for (size_t i = 0; i < dwarf->units.n; i++) {
		struct unit_sink sink = {intervals, (uint32_t)i, false};
		struct gn_cursor cursor = gn_dwarf_cursor(dwarf, &units[i], units[i].first_entry);
		const struct gn_abbreviation *abbreviation = gn_dwarf_entry(&units[i], &cursor);
		const struct gn_attribute *attributes;
		struct gn_extent extent = {0};
		struct gn_value value;

		if (!abbreviation)
			continue;
		attributes = gn_dwarf_attributes(&units[i], abbreviation);
		for (uint32_t j = 0; j < abbreviation->n && !cursor.is_bad; j++) {
			gn_dwarf_value(dwarf, &units[i], &attributes[j], &cursor, &value);
			if (attributes[j].name == DW_AT_low_pc)
				extent.low = value;
			else if (attributes[j].name == DW_AT_high_pc)
				extent.high = value;
			else if (attributes[j].name == DW_AT_ranges)
				extent.ranges = value;
		}
		if (!cursor.is_bad)
			gn_dwarf_ranges(dwarf, &units[i], &extent, add_to_unit, &sink);
		is_covered[i] = sink.has_any;
		is_complete &= sink.has_any;
	}
	if (!is_complete)
		add_address_ranges(dwarf, intervals, is_covered);
	gn_intervals_sort(intervals);
}
