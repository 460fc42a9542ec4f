#include "dwarf_names.h"

#include "demangle.h"
#include "dwarf_calls.h"

#include <stdio.h>

/* An inlined function refers to its abstract one, that to its declaration: more are senseless. */
#define REFERENCES_MAX 8
#define SCOPES_MAX 32
#define DEPTH_MAX 4

enum { DW_LANG_Fortran77 = 0x07, DW_LANG_Fortran90 = 0x08, DW_LANG_Fortran95 = 0x0e };
enum { DW_LANG_Fortran03 = 0x22, DW_LANG_Fortran08 = 0x23, DW_LANG_Fortran18 = 0x2d };

struct names {
	uint16_t tag;
	const char *name, *linkage_name;
	struct gn_value reference; /* to where else they may be */
};

static bool read_names(struct gn_dwarf *dwarf, struct gn_unit *unit, uint64_t offset,
		       struct names *names)
{
	struct gn_cursor cursor = gn_dwarf_cursor(dwarf, unit, offset);
	const struct gn_abbreviation *abbreviation = gn_dwarf_entry(unit, &cursor);
	const struct gn_attribute *attributes;
	struct gn_value value;

	*names = (struct names){0};
	if (!abbreviation)
		return false;
	names->tag = abbreviation->tag;
	attributes = gn_dwarf_attributes(unit, abbreviation);
	for (uint32_t i = 0; i < abbreviation->n; i++) {
		switch (attributes[i].name) {
		case DW_AT_name:
			gn_dwarf_value(dwarf, unit, &attributes[i], &cursor, &value);
			names->name = value.text;
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			gn_dwarf_value(dwarf, unit, &attributes[i], &cursor, &value);
			names->linkage_name = value.text;
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			gn_dwarf_value(dwarf, unit, &attributes[i], &cursor, &names->reference);
			break;
		default:
			gn_dwarf_skip(unit, &attributes[i], &cursor);
		}
		if (cursor.is_bad)
			return false;
	}
	return true;
}

static bool is_fortran(const struct gn_unit *unit)
{
	return unit->language == DW_LANG_Fortran77 || unit->language == DW_LANG_Fortran90 ||
	       unit->language == DW_LANG_Fortran95 || unit->language == DW_LANG_Fortran03 ||
	       unit->language == DW_LANG_Fortran08 || unit->language == DW_LANG_Fortran18;
}

static const struct gn_scope *scope_at(const struct gn_unit *unit, uint64_t offset)
{
	const struct gn_scope *scopes = unit->scopes.data;
	size_t low = 0, high = unit->scopes.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (scopes[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < unit->scopes.n && scopes[low].offset == offset ? &scopes[low] : NULL;
}

/* The part of a name that a scope is. Lambdas are types without a name. */
static const char *part_of_name(const struct names *names, uint16_t tag, const char *inner)
{
	if (names->name)
		return names->name;
	if (tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strcmp(inner, "operator()") ? "{unnamed type}" : "{lambda}";
}

static bool name_entry(struct gn_dwarf *dwarf, uint64_t offset, int depth, char *text, size_t size);

/* `space::type::name`, outermost first. */
static bool qualify(struct gn_dwarf *dwarf, struct gn_unit *unit, uint64_t offset, const char *name,
		    int depth, char *text, size_t size)
{
	const struct gn_scope *scopes = unit->scopes.data, *scope = scope_at(unit, offset);
	const char *parts[SCOPES_MAX];
	size_t n_parts = 0, n = 0;
	int length;

	*text = '\0';
	/* With link-time optimization, what is inlined is declared in other units than the code's.
	 */
	if (!unit->was_read) {
		struct gn_vector none = {0};

		gn_dwarf_calls(dwarf, unit, 0, NULL, NULL, 0, &none, NULL);
		scopes = unit->scopes.data;
		scope = scope_at(unit, offset);
	}
	while (scope && scope->parent < unit->scopes.n && n_parts < SCOPES_MAX) {
		struct names names;

		scope = &scopes[scope->parent];
		if (!read_names(dwarf, unit, scope->offset, &names))
			return false;
		/* A function that something is declared in has a name of more than one part. */
		if (names.tag == DW_TAG_subprogram) {
			if (depth < DEPTH_MAX &&
			    name_entry(dwarf, scope->offset, depth + 1, text, size))
				n = strlen(text);
			break;
		}
		parts[n_parts++] = part_of_name(&names, names.tag, name);
	}
	for (; n_parts; n += (size_t)length) {
		length = snprintf(text + n, size - n, "%s%s", n ? "::" : "", parts[--n_parts]);
		if (length < 0 || (size_t)length >= size - n)
			return false;
	}
	return (size_t)snprintf(text + n, size - n, "%s%s", n ? "::" : "", name) < size - n;
}

static bool name_entry(struct gn_dwarf *dwarf, uint64_t offset, int depth, char *text, size_t size)
{
	const char *name = NULL;
	struct gn_unit *unit = NULL;

	for (int i = 0; i < REFERENCES_MAX; i++) {
		struct names names;

		unit = gn_dwarf_unit(dwarf, offset);
		if (!unit || !read_names(dwarf, unit, offset, &names))
			return false;
		if (names.linkage_name && gn_demangle(names.linkage_name, text, size))
			return true;
		/* Fortran's and C's are the source's name, but for underscores and the like. */
		if (names.name)
			name = names.name;
		else if (names.linkage_name && !name)
			name = names.linkage_name;
		if (!gn_dwarf_follow(&dwarf, unit, &names.reference, &offset))
			break;
	}
	if (!name)
		return false;
	if (is_fortran(unit))
		return (size_t)snprintf(text, size, "%s", name) < size;
	return qualify(dwarf, unit, offset, name, depth, text, size);
}

bool gn_dwarf_name(struct gn_dwarf *dwarf, uint64_t offset, char *text, size_t size)
{
	return name_entry(dwarf, offset, 0, text, size);
}
