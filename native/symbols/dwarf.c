#include "dwarf.h"

#include <stdlib.h>

enum { DW_UT_type = 2, DW_UT_skeleton = 4, DW_UT_split_compile = 5, DW_UT_split_type = 6 };

/* --- abbreviations ---------------------------------------------------------------------------- */

/* The size of a form; -1 if it is not the same everywhere. */
static int size_of_form(const struct gn_abbreviations *table, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return table->address_size;
	case DW_FORM_ref_addr:
		return table->version <= 2 ? table->address_size : table->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return table->offset_size;
	default:
		return -1;
	}
}

static int compare_codes(const void *a, const void *b)
{
	const struct gn_abbreviation *one = a, *other = b;

	return one->code < other->code ? -1 : one->code > other->code;
}

static void parse_abbreviations(struct gn_abbreviations *table, struct gn_cursor cursor)
{
	uint64_t previous = 0;
	bool is_sorted = true;

	for (;;) {
		struct gn_abbreviation abbreviation = {.code = gn_uleb(&cursor)};

		if (!abbreviation.code)
			break;
		abbreviation.tag = (uint16_t)gn_uleb(&cursor);
		abbreviation.has_children = gn_u8(&cursor);
		abbreviation.first = (uint32_t)table->attributes.n;
		for (;;) {
			struct gn_attribute attribute = {0};
			const uint64_t name = gn_uleb(&cursor), form = gn_uleb(&cursor);
			int size;

			if (form == DW_FORM_implicit_const)
				attribute.constant = gn_sleb(&cursor);
			if ((!name && !form) || cursor.is_bad)
				break;
			attribute.name = name <= UINT16_MAX ? (uint16_t)name : 0;
			attribute.form = form <= UINT16_MAX ? (uint16_t)form : 0;
			memcpy(gn_vector_push(&table->attributes, sizeof(attribute)), &attribute,
			       sizeof(attribute));
			size = size_of_form(table, attribute.form);
			if (size < 0 || abbreviation.size < 0)
				abbreviation.size = -1;
			else if (abbreviation.size < INT32_MAX - 16)
				abbreviation.size += size;
		}
		if (cursor.is_bad)
			break;
		abbreviation.n = (uint32_t)table->attributes.n - abbreviation.first;
		is_sorted &= abbreviation.code > previous;
		previous = abbreviation.code;
		memcpy(gn_vector_push(&table->of, sizeof(abbreviation)), &abbreviation,
		       sizeof(abbreviation));
	}
	if (!is_sorted)
		qsort(table->of.data, table->of.n, sizeof(struct gn_abbreviation), compare_codes);
}

static const struct gn_abbreviations *abbreviations_at(struct gn_dwarf *dwarf,
						       const struct gn_unit *unit, uint64_t offset)
{
	struct gn_abbreviations **first = &dwarf->tables[(offset ^ offset >> 8) & 255], *table;

	for (table = *first; table; table = table->next)
		if (table->offset == offset && table->address_size == unit->address_size &&
		    table->offset_size == unit->offset_size && table->version == unit->version)
			return table;
	table = gn_arena_alloc(dwarf->arena, sizeof(*table));
	table->next = *first;
	table->offset = offset;
	table->address_size = unit->address_size;
	table->offset_size = unit->offset_size;
	table->version = unit->version;
	*first = table;
	parse_abbreviations(table, gn_cursor_new(dwarf->abbrev, offset, dwarf->file->is_swapped));
	return table;
}

/* --- attributes ------------------------------------------------------------------------------- */

const struct gn_abbreviation *gn_dwarf_entry(const struct gn_unit *unit, struct gn_cursor *cursor)
{
	const struct gn_vector *of = &unit->abbreviations->of;
	const struct gn_abbreviation *all = of->data, *abbreviation;
	const uint64_t code = gn_uleb(cursor);
	const struct gn_abbreviation key = {.code = code};

	if (!code)
		return NULL;
	if (code <= of->n && all[code - 1].code == code)
		return &all[code - 1];
	abbreviation = of->n ? bsearch(&key, all, of->n, sizeof(*all), compare_codes) : NULL;
	if (!abbreviation)
		gn_fail(cursor);
	return abbreviation;
}

const struct gn_attribute *gn_dwarf_attributes(const struct gn_unit *unit,
					       const struct gn_abbreviation *abbreviation)
{
	const struct gn_attribute *attributes = unit->abbreviations->attributes.data;

	return attributes ? attributes + abbreviation->first : NULL;
}

const char *gn_dwarf_text(const struct gn_dwarf *dwarf, const struct gn_unit *unit, uint16_t form,
			  uint64_t number)
{
	struct gn_cursor cursor;
	uint64_t offset = number;

	switch (form) {
	case DW_FORM_strp:
		return gn_text_at(dwarf->str, number);
	case DW_FORM_line_strp:
		return gn_text_at(dwarf->line_str, number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return dwarf->alternate ? gn_text_at(dwarf->alternate->str, number) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		if (number > dwarf->str_offsets.size)
			return NULL;
		offset = unit->str_offsets_base + number * unit->offset_size;
		cursor = gn_cursor_new(dwarf->str_offsets, offset, dwarf->file->is_swapped);
		offset = gn_read(&cursor, unit->offset_size);
		return cursor.is_bad ? NULL : gn_text_at(dwarf->str, offset);
	default:
		return NULL;
	}
}

uint64_t gn_dwarf_indexed_address(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
				  uint64_t index)
{
	struct gn_cursor cursor;

	if (index > dwarf->addr.size)
		return 0;
	cursor = gn_cursor_new(dwarf->addr, unit->addr_base + index * unit->address_size,
			       dwarf->file->is_swapped);
	return gn_read(&cursor, unit->address_size);
}

void gn_dwarf_value(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
		    const struct gn_attribute *attribute, struct gn_cursor *cursor,
		    struct gn_value *value)
{
	int size = size_of_form(unit->abbreviations, attribute->form);
	uint64_t form = attribute->form;

	if (form == DW_FORM_indirect) {
		form = gn_uleb(cursor);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX)
			gn_fail(cursor);
		size = size_of_form(unit->abbreviations, (uint16_t)form);
	}
	*value = (struct gn_value){.form = (uint16_t)form};
	if (form == DW_FORM_flag_present) {
		value->number = 1;
	} else if (form == DW_FORM_implicit_const) {
		value->number = (uint64_t)attribute->constant;
	} else if (size == 4) {
		value->number = gn_u32(cursor);
	} else if (size > 8) {
		gn_skip(cursor, (uint64_t)size);
	} else if (size >= 0) {
		value->number = gn_read(cursor, (unsigned int)size);
	} else {
		switch (form) {
		case DW_FORM_string:
			value->text = gn_text(cursor);
			return;
		case DW_FORM_udata:
		case DW_FORM_ref_udata:
		case DW_FORM_strx:
		case DW_FORM_addrx:
		case DW_FORM_loclistx:
		case DW_FORM_rnglistx:
		case DW_FORM_GNU_addr_index:
		case DW_FORM_GNU_str_index:
			value->number = gn_uleb(cursor);
			break;
		case DW_FORM_sdata:
			value->number = (uint64_t)gn_sleb(cursor);
			break;
		case DW_FORM_block1:
			gn_skip(cursor, gn_u8(cursor));
			break;
		case DW_FORM_block2:
			gn_skip(cursor, gn_u16(cursor));
			break;
		case DW_FORM_block4:
			gn_skip(cursor, gn_u32(cursor));
			break;
		case DW_FORM_block:
		case DW_FORM_exprloc:
			gn_skip(cursor, gn_uleb(cursor));
			break;
		default:
			gn_fail(cursor);
		}
	}
	if (!cursor->is_bad)
		value->text = gn_dwarf_text(dwarf, unit, (uint16_t)form, value->number);
}

void gn_dwarf_skip(const struct gn_unit *unit, const struct gn_attribute *attribute,
		   struct gn_cursor *cursor)
{
	static const struct gn_dwarf none;
	struct gn_value value;
	const int size = size_of_form(unit->abbreviations, attribute->form);

	if (size >= 0)
		gn_skip(cursor, (uint64_t)size);
	else if (attribute->form == DW_FORM_exprloc)
		gn_skip(cursor, gn_uleb(cursor));
	else if (attribute->form == DW_FORM_udata || attribute->form == DW_FORM_sdata ||
		 attribute->form == DW_FORM_loclistx)
		gn_uleb(cursor);
	else if (attribute->form == DW_FORM_block1)
		gn_skip(cursor, gn_u8(cursor));
	else if (attribute->form == DW_FORM_strx || attribute->form == DW_FORM_addrx ||
		 attribute->form == DW_FORM_GNU_addr_index)
		gn_uleb(cursor);
	else if (attribute->form == DW_FORM_indirect)
		gn_fail(cursor); /* nobody writes it */
	else
		gn_dwarf_value(&none, unit, attribute, cursor, &value);
}

void gn_dwarf_skip_all(const struct gn_unit *unit, const struct gn_abbreviation *abbreviation,
		       struct gn_cursor *cursor)
{
	const struct gn_attribute *attributes = gn_dwarf_attributes(unit, abbreviation);

	if (abbreviation->size >= 0) {
		gn_skip(cursor, (uint64_t)abbreviation->size);
		return;
	}
	for (uint32_t i = 0; i < abbreviation->n && !cursor->is_bad; i++)
		gn_dwarf_skip(unit, &attributes[i], cursor);
}

/* --- units ------------------------------------------------------------------------------------ */

static const char *root_text(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
			     const struct gn_value *value)
{
	const char *text = gn_dwarf_text(dwarf, unit, value->form, value->number);

	return text ? text : value->form == DW_FORM_string ? value->text : NULL;
}

static void read_root(struct gn_dwarf *dwarf, struct gn_unit *unit)
{
	struct gn_cursor cursor = gn_dwarf_cursor(dwarf, unit, unit->first_entry);
	const struct gn_abbreviation *abbreviation = gn_dwarf_entry(unit, &cursor);
	const struct gn_attribute *attributes;
	struct gn_value value, name = {0}, folder = {0}, low = {0};

	if (!abbreviation)
		return;
	attributes = gn_dwarf_attributes(unit, abbreviation);
	for (uint32_t i = 0; i < abbreviation->n && !cursor.is_bad; i++) {
		gn_dwarf_value(dwarf, unit, &attributes[i], &cursor, &value);
		if (cursor.is_bad)
			return;
		switch (attributes[i].name) {
		case DW_AT_name:
			name = value;
			break;
		case DW_AT_comp_dir:
			folder = value;
			break;
		case DW_AT_low_pc:
			low = value;
			break;
		case DW_AT_stmt_list:
			unit->line_offset = value.number;
			unit->has_lines = true;
			break;
		case DW_AT_language:
			unit->language = (uint16_t)value.number;
			break;
		case DW_AT_str_offsets_base:
			unit->str_offsets_base = value.number;
			break;
		case DW_AT_addr_base:
		case DW_AT_GNU_addr_base:
			unit->addr_base = value.number;
			break;
		case DW_AT_rnglists_base:
			unit->rnglists_base = value.number;
			break;
		default:
			break;
		}
	}
	/* The bases may stand behind what needs them. */
	unit->name = root_text(dwarf, unit, &name);
	unit->folder = root_text(dwarf, unit, &folder);
	unit->low_pc = low.form == DW_FORM_addr || !low.form
			       ? low.number
			       : gn_dwarf_indexed_address(dwarf, unit, low.number);
}

static void add_unit(struct gn_dwarf *dwarf, struct gn_cursor *cursor)
{
	struct gn_unit unit = {.offset = (uint64_t)(cursor->next - dwarf->info.data),
			       .offset_size = 4};
	struct gn_cursor header;
	uint64_t length = gn_u32(cursor), abbreviations;

	if (length == UINT32_MAX) {
		length = gn_u64(cursor);
		unit.offset_size = 8;
	}
	header = *cursor;
	gn_skip(cursor, length);
	if (cursor->is_bad)
		return;
	unit.end = (uint64_t)(cursor->next - dwarf->info.data);
	header.end = cursor->next;
	unit.version = (uint8_t)gn_u16(&header);
	if (unit.version < 2 || unit.version > 5)
		return;
	if (unit.version == 5) {
		unit.type = gn_u8(&header);
		unit.address_size = gn_u8(&header);
		abbreviations = gn_read(&header, unit.offset_size);
		if (unit.type == DW_UT_skeleton || unit.type == DW_UT_split_compile)
			gn_skip(&header, 8);
		else if (unit.type == DW_UT_type || unit.type == DW_UT_split_type)
			gn_skip(&header, 8 + unit.offset_size);
	} else {
		abbreviations = gn_read(&header, unit.offset_size);
		unit.address_size = gn_u8(&header);
	}
	if (header.is_bad || unit.address_size > 8 || !unit.address_size)
		return;
	unit.first_entry = (uint64_t)(header.next - dwarf->info.data);
	/* Where nothing says otherwise: behind the header of the only table. */
	unit.str_offsets_base = unit.offset_size == 8 ? 16 : 8;
	unit.abbreviations = abbreviations_at(dwarf, &unit, abbreviations);
	if (unit.type != DW_UT_type && unit.type != DW_UT_split_type)
		read_root(dwarf, &unit);
	memcpy(gn_vector_push(&dwarf->units, sizeof(unit)), &unit, sizeof(unit));
}

void gn_dwarf_open(struct gn_dwarf *dwarf, struct gn_elf *file, const struct gn_elf *module,
		   struct gn_dwarf *alternate)
{
	struct gn_cursor cursor;

	*dwarf = (struct gn_dwarf){
		.file = file,
		.module = module,
		.arena = file->arena,
		.alternate = alternate,
		.info = gn_elf_content(file, ".debug_info"),
		.abbrev = gn_elf_content(file, ".debug_abbrev"),
		.line = gn_elf_content(file, ".debug_line"),
		.str = gn_elf_content(file, ".debug_str"),
		.line_str = gn_elf_content(file, ".debug_line_str"),
		.str_offsets = gn_elf_content(file, ".debug_str_offsets"),
		.addr = gn_elf_content(file, ".debug_addr"),
		.ranges = gn_elf_content(file, ".debug_ranges"),
		.rnglists = gn_elf_content(file, ".debug_rnglists"),
	};
	cursor = gn_cursor_new(dwarf->info, 0, file->is_swapped);
	while (gn_left(&cursor) > 4 && !cursor.is_bad)
		add_unit(dwarf, &cursor);
}

void gn_dwarf_close(struct gn_dwarf *dwarf)
{
	struct gn_unit *units = dwarf->units.data;

	for (size_t i = 0; i < dwarf->units.n; i++) {
		gn_vector_free(&units[i].scopes);
		if (units[i].files) {
			gn_vector_free(&units[i].files->folders);
			gn_vector_free(&units[i].files->files);
		}
	}
	gn_vector_free(&dwarf->units);
	for (size_t i = 0; i < 256; i++)
		for (struct gn_abbreviations *table = dwarf->tables[i]; table;
		     table = table->next) {
			gn_vector_free(&table->of);
			gn_vector_free(&table->attributes);
		}
}

struct gn_unit *gn_dwarf_unit(struct gn_dwarf *dwarf, uint64_t offset)
{
	struct gn_unit *units = dwarf->units.data;
	size_t low = 0, high = dwarf->units.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (units[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset >= units[low - 1].end || offset < units[low - 1].first_entry)
		return NULL;
	return &units[low - 1];
}

struct gn_cursor gn_dwarf_cursor(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
				 uint64_t offset)
{
	const struct gn_span entries = {dwarf->info.data, unit->end};

	return gn_cursor_new(entries, offset, dwarf->file->is_swapped);
}

bool gn_dwarf_follow(struct gn_dwarf **dwarf, const struct gn_unit *unit,
		     const struct gn_value *value, uint64_t *offset)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*offset = unit->offset + value->number;
		return value->number < unit->end - unit->offset;
	case DW_FORM_ref_addr:
		*offset = value->number;
		return true;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		if (!(*dwarf)->alternate)
			return false;
		*dwarf = (*dwarf)->alternate;
		*offset = value->number;
		return true;
	default:
		return false;
	}
}
