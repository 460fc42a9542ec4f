#include "dwarf_lines.h"

#include <stdio.h>

enum { DW_LNCT_path = 1, DW_LNCT_directory_index = 2 };

enum {
	DW_LNS_copy = 1,
	DW_LNS_advance_pc = 2,
	DW_LNS_advance_line = 3,
	DW_LNS_set_file = 4,
	DW_LNS_set_column = 5,
	DW_LNS_const_add_pc = 8,
	DW_LNS_fixed_advance_pc = 9,
	DW_LNS_set_isa = 12,
};

enum { DW_LNE_end_sequence = 1, DW_LNE_set_address = 2 };

/* --- the header ------------------------------------------------------------------------------- */

static void read_old_tables(struct gn_line_files *files, struct gn_cursor *cursor)
{
	const char *name;

	/* Folder 0 is the unit's. */
	*(const char **)gn_vector_push(&files->folders, sizeof(name)) = NULL;
	while ((name = gn_text(cursor)) && *name)
		*(const char **)gn_vector_push(&files->folders, sizeof(name)) = name;
	while ((name = gn_text(cursor)) && *name) {
		struct gn_line_file *file = gn_vector_push(&files->files, sizeof(*file));

		file->name = name;
		file->folder = gn_uleb(cursor);
		gn_uleb(cursor);
		gn_uleb(cursor);
	}
	files->first = 1;
}

/* One of the two tables of DWARF 5, of which the header says what stands in each entry. */
static void read_table(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
		       struct gn_cursor *cursor, struct gn_line_files *files, bool is_of_folders)
{
	struct gn_attribute format[256];
	const uint8_t n_formats = gn_u8(cursor);
	uint64_t n;

	for (uint8_t i = 0; i < n_formats; i++) {
		const uint64_t content = gn_uleb(cursor), form = gn_uleb(cursor);

		format[i] = (struct gn_attribute){content <= UINT16_MAX ? (uint16_t)content : 0,
						  form <= UINT16_MAX ? (uint16_t)form : 0, 0};
	}
	n = gn_uleb(cursor);
	/* Entries of no size could be as many as the header likes. */
	for (uint64_t i = 0; n_formats && i < n && gn_left(cursor) && !cursor->is_bad; i++) {
		struct gn_line_file file = {NULL, 0};

		for (uint8_t j = 0; j < n_formats; j++) {
			struct gn_value value;

			gn_dwarf_value(dwarf, unit, &format[j], cursor, &value);
			if (format[j].name == DW_LNCT_path)
				file.name = value.text;
			else if (format[j].name == DW_LNCT_directory_index)
				file.folder = value.number;
		}
		if (is_of_folders)
			*(const char **)gn_vector_push(&files->folders, sizeof(file.name)) =
				file.name;
		else
			memcpy(gn_vector_push(&files->files, sizeof(file)), &file, sizeof(file));
	}
}

static bool read_header(const struct gn_dwarf *dwarf, const struct gn_unit *unit,
			struct gn_line_files *files)
{
	struct gn_cursor cursor =
		gn_cursor_new(dwarf->line, unit->line_offset, dwarf->file->is_swapped);
	uint64_t length = gn_u32(&cursor);
	/* The table has a version and an offset size of its own. */
	struct gn_unit own = *unit;

	own.offset_size = length == UINT32_MAX ? 8 : 4;
	if (own.offset_size == 8)
		length = gn_u64(&cursor);
	if (length > gn_left(&cursor))
		return false;
	cursor.end = cursor.next + length;
	files->end = (uint64_t)(cursor.end - dwarf->line.data);
	own.version = (uint8_t)gn_u16(&cursor);
	if (own.version < 2 || own.version > 5)
		return false;
	if (own.version == 5)
		gn_skip(&cursor, 2);
	length = gn_read(&cursor, own.offset_size);
	if (length > gn_left(&cursor))
		return false;
	files->program = (uint64_t)(cursor.next - dwarf->line.data) + length;
	files->minimum = gn_u8(&cursor);
	files->operations_max = own.version >= 4 ? gn_u8(&cursor) : 1;
	files->default_is_stmt = gn_u8(&cursor);
	files->line_base = (int8_t)gn_u8(&cursor);
	files->line_range = gn_u8(&cursor);
	files->opcode_base = gn_u8(&cursor);
	for (unsigned int i = 1; i < files->opcode_base; i++)
		files->operands[i] = gn_u8(&cursor);
	if (!files->line_range || !files->opcode_base || cursor.is_bad)
		return false;
	if (own.version == 5) {
		/* Forms of the size of an offset are the table's own, not the unit's. */
		struct gn_abbreviations sizes = {.address_size = unit->address_size,
						 .offset_size = own.offset_size,
						 .version = own.version};

		own.abbreviations = &sizes;
		read_table(dwarf, &own, &cursor, files, true);
		read_table(dwarf, &own, &cursor, files, false);
	} else {
		read_old_tables(files, &cursor);
	}
	return true;
}

struct gn_line_files *gn_line_files(struct gn_dwarf *dwarf, struct gn_unit *unit)
{
	if (!unit->files && unit->has_lines) {
		unit->files = gn_arena_alloc(dwarf->arena, sizeof(*unit->files));
		if (!read_header(dwarf, unit, unit->files))
			unit->files->line_range = 0;
	}
	return unit->files && unit->files->line_range ? unit->files : NULL;
}

bool gn_line_path(const struct gn_unit *unit, const struct gn_line_files *files, uint64_t number,
		  char *path, size_t size)
{
	const struct gn_line_file *all = files->files.data, *file;
	const char *folder = NULL, *root = unit->folder ? unit->folder : "";

	if (number - files->first >= files->files.n)
		return false;
	file = &all[number - files->first];
	if (!file->name || !*file->name)
		return false;
	if (file->folder < files->folders.n)
		folder = ((const char **)files->folders.data)[file->folder];
	if (!folder)
		folder = "";
	if (*file->name == '/')
		root = folder = "";
	else if (*folder == '/')
		root = "";
	return (size_t)snprintf(path, size, "%s%s%s%s%s", root, *root ? "/" : "", folder,
				*folder ? "/" : "", file->name) < size;
}

/* --- the rows --------------------------------------------------------------------------------- */

struct machine {
	uint64_t address, operation;
	uint32_t file, line;
};

struct search {
	const uint64_t *addresses;
	const uint32_t *unit_of;
	size_t n, next;
	uint32_t unit_number;
	struct gn_line *lines;
	struct machine row; /* the one before */
	bool has_row;
};

static size_t lower_bound(const uint64_t *addresses, size_t n, uint64_t address)
{
	size_t low = 0;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* A row holds from its address up to the next one's. */
static void add_row(struct search *search, const struct machine *row, bool is_end)
{
	if (!search->has_row || row->address < search->row.address)
		search->next = lower_bound(search->addresses, search->n, row->address);
	while (search->next < search->n && search->addresses[search->next] < row->address) {
		struct gn_line *line = &search->lines[search->next];

		if (search->unit_of[search->next] == search->unit_number && !line->is_set)
			*line = (struct gn_line){search->row.file, search->row.line, true};
		search->next++;
	}
	search->row = *row;
	search->has_row = !is_end;
}

static void advance(const struct gn_line_files *files, struct machine *machine, uint64_t by)
{
	if (files->operations_max <= 1) {
		machine->address += files->minimum * by;
		return;
	}
	by += machine->operation;
	machine->address += files->minimum * (by / files->operations_max);
	machine->operation = by % files->operations_max;
}

void gn_lines(struct gn_dwarf *dwarf, struct gn_unit *unit, uint32_t unit_number,
	      const uint64_t *addresses, const uint32_t *unit_of, size_t n, struct gn_line *lines)
{
	const struct gn_line_files *files = gn_line_files(dwarf, unit);
	const struct machine first = {.file = 1, .line = 1};
	struct search search = {addresses, unit_of, n, 0, unit_number, lines, first, false};
	struct machine machine = first;
	struct gn_cursor cursor;

	if (!files)
		return;
	cursor = gn_cursor_new((struct gn_span){dwarf->line.data, files->end}, files->program,
			       dwarf->file->is_swapped);
	while (gn_left(&cursor)) {
		const uint8_t opcode = gn_u8(&cursor);
		uint64_t length;

		if (opcode >= files->opcode_base) {
			const uint8_t adjusted = opcode - files->opcode_base;

			advance(files, &machine, adjusted / files->line_range);
			machine.line += (uint32_t)(files->line_base + adjusted % files->line_range);
			add_row(&search, &machine, false);
			continue;
		}
		switch (opcode) {
		case 0: {
			const uint8_t *begin;
			uint8_t extended;

			length = gn_uleb(&cursor);
			if (!length || length > gn_left(&cursor))
				return;
			begin = cursor.next;
			extended = gn_u8(&cursor);
			if (extended == DW_LNE_end_sequence) {
				add_row(&search, &machine, true);
				machine = first;
			} else if (extended == DW_LNE_set_address && length <= 9) {
				machine.address = gn_read(&cursor, (unsigned int)length - 1);
				machine.operation = 0;
			}
			cursor.next = begin + length;
			break;
		}
		case DW_LNS_copy:
			add_row(&search, &machine, false);
			break;
		case DW_LNS_advance_pc:
			advance(files, &machine, gn_uleb(&cursor));
			break;
		case DW_LNS_advance_line:
			machine.line += (uint32_t)gn_sleb(&cursor);
			break;
		case DW_LNS_set_file:
			machine.file = (uint32_t)gn_uleb(&cursor);
			break;
		case DW_LNS_const_add_pc:
			advance(files, &machine,
				(uint8_t)(255 - files->opcode_base) / files->line_range);
			break;
		case DW_LNS_fixed_advance_pc:
			machine.address += gn_u16(&cursor);
			machine.operation = 0;
			break;
		default: /* nothing that changes the line, or unknown */
			for (uint8_t i = 0; i < files->operands[opcode]; i++)
				gn_uleb(&cursor);
		}
	}
}
