#include "dwarf_calls.h"

#include "dwarf_ranges.h"

#define DEPTH_MAX 256

enum {
	DW_LANG_C89 = 0x01,
	DW_LANG_C = 0x02,
	DW_LANG_C99 = 0x0c,
	DW_LANG_C11 = 0x1d,
	DW_LANG_C17 = 0x2c,
};

/* An entry whose children are read. */
struct level {
	uint32_t scope, call;
};

struct marks {
	const uint64_t *addresses;
	const uint32_t *unit_of;
	size_t n;
	uint32_t unit, call;
	uint32_t *innermost;
	bool has_any;
};

static void mark(void *context, uint64_t start, uint64_t end)
{
	struct marks *marks = context;
	size_t low = 0, high = marks->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (marks->addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < marks->n && marks->addresses[low] < end; low++)
		if (marks->unit_of[low] == marks->unit) {
			marks->innermost[low] = marks->call;
			marks->has_any = true;
		}
}

/* Adds a function, or one that was inlined, if it holds addresses; returns its number. */
static uint32_t add_call(struct gn_dwarf *dwarf, const struct gn_unit *unit,
			 const struct gn_abbreviation *abbreviation, struct gn_cursor *cursor,
			 struct gn_call *call, struct marks *marks, struct gn_vector *calls)
{
	const struct gn_attribute *attributes = gn_dwarf_attributes(unit, abbreviation);
	struct gn_extent extent = {0};
	struct gn_value value;

	for (uint32_t i = 0; i < abbreviation->n && !cursor->is_bad; i++) {
		const struct gn_attribute *attribute = &attributes[i];

		switch (attribute->name) {
		case DW_AT_low_pc:
			gn_dwarf_value(dwarf, unit, attribute, cursor, &extent.low);
			break;
		case DW_AT_high_pc:
			gn_dwarf_value(dwarf, unit, attribute, cursor, &extent.high);
			break;
		case DW_AT_ranges:
			gn_dwarf_value(dwarf, unit, attribute, cursor, &extent.ranges);
			break;
		case DW_AT_call_file:
			gn_dwarf_value(dwarf, unit, attribute, cursor, &value);
			call->file = (uint32_t)value.number;
			break;
		case DW_AT_call_line:
			gn_dwarf_value(dwarf, unit, attribute, cursor, &value);
			call->line = (uint32_t)value.number;
			break;
		default:
			gn_dwarf_skip(unit, attribute, cursor);
		}
	}
	if (cursor->is_bad)
		return GN_NO_CALL;
	marks->call = (uint32_t)calls->n;
	marks->has_any = false;
	call->start = gn_dwarf_ranges(dwarf, unit, &extent, mark, marks);
	if (!marks->has_any)
		return GN_NO_CALL;
	memcpy(gn_vector_push(calls, sizeof(*call)), call, sizeof(*call));
	return marks->call;
}

/* Names of C and Fortran need nothing of what they stand in. */
static bool has_scopes(const struct gn_unit *unit)
{
	return unit->language != DW_LANG_C89 && unit->language != DW_LANG_C &&
	       unit->language != DW_LANG_C99 && unit->language != DW_LANG_C11 &&
	       unit->language != DW_LANG_C17;
}

static bool is_scope(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_module ||
	       tag == DW_TAG_subprogram;
}

void gn_dwarf_calls(struct gn_dwarf *dwarf, struct gn_unit *unit, uint32_t unit_number,
		    const uint64_t *addresses, const uint32_t *unit_of, size_t n,
		    struct gn_vector *calls, uint32_t *innermost)
{
	struct marks marks = {addresses, unit_of, n, unit_number, 0, innermost, false};
	struct gn_cursor cursor = gn_dwarf_cursor(dwarf, unit, unit->first_entry);
	const bool keeps_scopes = has_scopes(unit);
	struct level levels[DEPTH_MAX];
	size_t depth = 0;

	unit->was_read = true;
	unit->scopes.n = 0;
	levels[0] = (struct level){UINT32_MAX, GN_NO_CALL};
	while (gn_left(&cursor)) {
		const uint64_t offset = (uint64_t)(cursor.next - dwarf->info.data);
		const struct gn_abbreviation *abbreviation = gn_dwarf_entry(unit, &cursor);
		struct level level = levels[depth];

		if (!abbreviation) {
			if (!depth || cursor.is_bad)
				return;
			depth--;
			continue;
		}
		if (keeps_scopes && is_scope(abbreviation->tag)) {
			struct gn_scope *scope = gn_vector_push(&unit->scopes, sizeof(*scope));

			*scope = (struct gn_scope){offset, level.scope};
			level.scope = (uint32_t)unit->scopes.n - 1;
		}
		if (abbreviation->tag == DW_TAG_subprogram ||
		    (abbreviation->tag == DW_TAG_inlined_subroutine && level.call != GN_NO_CALL)) {
			const bool is_inlined = abbreviation->tag == DW_TAG_inlined_subroutine;
			struct gn_call call = {.entry = offset,
					       .parent = is_inlined ? level.call : GN_NO_CALL,
					       .unit = unit_number};

			level.call =
				add_call(dwarf, unit, abbreviation, &cursor, &call, &marks, calls);
		} else {
			gn_dwarf_skip_all(unit, abbreviation, &cursor);
		}
		if (abbreviation->has_children) {
			if (++depth == DEPTH_MAX)
				return;
			levels[depth] = level;
		} else if (!depth) {
			return;
		}
	}
}
