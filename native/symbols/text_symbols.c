/*
 * Source: the manual of GNU gprof, and what its version 2.40 prints: which symbols it takes is
 * described nowhere else (tests/unit/callgraph compares the two).
 */
#include "text_symbols.h"

#include <ctype.h>
#include <stdlib.h>

struct entry {
	uint64_t value;
	uint16_t section;
	uint8_t binding, type;
	const char *name;
};

/* A part of a name behind a full stop: `.part.0`, `.isra.1` and the like are no names of people. */
static const char *behind_stop(const char *stop)
{
	static const char *const clones[] = {".clone.", ".constprop."};
	const char *name = stop;
	bool has_digit = false;

	for (size_t i = 0; i < sizeof(clones) / sizeof(*clones); i++) {
		const size_t length = strlen(clones[i]);

		if (strlen(name) > length && !strncmp(name, clones[i], length)) {
			name += length - 1;
			break;
		}
	}
	for (name++; *name; name++) {
		if (has_digit && *name == '.')
			break;
		if (!isdigit((unsigned char)*name))
			return NULL;
		has_digit = true;
	}
	return name;
}

static bool is_name_of_function(const char *name)
{
	for (; *name; name++) {
		while (*name == '.') {
			name = behind_stop(name);
			if (!name)
				return false;
		}
		if (*name == '$')
			return false;
		if (!*name)
			break;
	}
	return true;
}

static bool is_text(const struct gn_elf *module, const struct entry *entry)
{
	if (entry->section == SHN_UNDEF || entry->section >= SHN_LORESERVE ||
	    entry->section >= module->n_sections || entry->type == STT_SECTION ||
	    entry->type == STT_FILE || entry->type == STT_GNU_IFUNC)
		return false;
	if (entry->binding == STB_WEAK)
		return entry->type != STT_OBJECT;
	if (entry->binding != STB_GLOBAL && entry->binding != STB_LOCAL)
		return false;
	if (!(module->sections[entry->section].flags & SHF_EXECINSTR))
		return false;
	return entry->binding == STB_GLOBAL || (*entry->name && is_name_of_function(entry->name) &&
						strncmp(entry->name, "__gnu_compiled", 14) != 0 &&
						strncmp(entry->name, "___gnu_compiled", 15) != 0);
}

static struct entry next_entry(struct gn_cursor *cursor, bool is_wide, struct gn_span texts)
{
	const uint32_t name = gn_u32(cursor);
	struct entry entry = {0};
	uint8_t info;

	if (is_wide) {
		info = gn_u8(cursor);
		gn_u8(cursor);
		entry.section = gn_u16(cursor);
		entry.value = gn_u64(cursor);
		gn_u64(cursor);
	} else {
		entry.value = gn_u32(cursor);
		gn_u32(cursor);
		info = gn_u8(cursor);
		gn_u8(cursor);
		entry.section = gn_u16(cursor);
	}
	entry.binding = ELF64_ST_BIND(info);
	entry.type = ELF64_ST_TYPE(info);
	entry.name = gn_text_at(texts, name);
	return entry;
}

static void push(struct gn_vector *symbols, const struct gn_text_symbol *symbol)
{
	struct gn_text_symbol *pushed = gn_vector_push(symbols, sizeof(*symbol));

	*pushed = *symbol;
	pushed->position = (uint32_t)symbols->n - 1;
}

static void add_table(struct gn_vector *symbols, struct gn_elf *module,
		      const struct gn_section *table)
{
	const struct gn_section *texts = gn_elf_section_at(module, table->link);
	const size_t size = module->is_wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct gn_cursor cursor = gn_cursor_new(table->content, 0, module->is_swapped);

	if (!texts || texts->type != SHT_STRTAB)
		return;
	while (gn_left(&cursor) >= size) {
		const struct entry entry = next_entry(&cursor, module->is_wide, texts->content);
		struct gn_text_symbol symbol = {.start = entry.value, .name = entry.name};

		if (!entry.name || !is_text(module, &entry))
			continue;
		if (entry.binding == STB_LOCAL)
			symbol.flags |= GN_TEXT_SYMBOL_IS_STATIC;
		if (entry.type == STT_FUNC)
			symbol.flags |= GN_TEXT_SYMBOL_IS_FUNCTION;
		push(symbols, &symbol);
	}
}

static int compare(const void *a, const void *b)
{
	const struct gn_text_symbol *one = a, *other = b;
	const uint32_t kind = one->flags ^ other->flags;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	if (kind & GN_TEXT_SYMBOL_IS_FUNCTION)
		return one->flags & GN_TEXT_SYMBOL_IS_FUNCTION ? -1 : 1;
	if (kind & GN_TEXT_SYMBOL_IS_STATIC)
		return one->flags & GN_TEXT_SYMBOL_IS_STATIC ? 1 : -1;
	return one->position < other->position ? -1 : one->position > other->position;
}

/* Of two with one address: global before static, function before label, fewer underscores. */
static bool is_better(const struct gn_text_symbol *one, const struct gn_text_symbol *other)
{
	const uint32_t kind = one->flags ^ other->flags;

	if (kind & GN_TEXT_SYMBOL_IS_STATIC)
		return !(one->flags & GN_TEXT_SYMBOL_IS_STATIC);
	if (kind & GN_TEXT_SYMBOL_IS_FUNCTION)
		return one->flags & GN_TEXT_SYMBOL_IS_FUNCTION;
	if (other->name[0] != '_')
		return false;
	return one->name[0] != '_' || (one->name[1] != '_' && other->name[1] == '_');
}

static void keep_best(struct gn_vector *vector, uint64_t text_end)
{
	struct gn_text_symbol *symbols = vector->data;
	size_t n = 0;

	for (size_t i = 0; i < vector->n; i++) {
		if (!n || symbols[n - 1].start != symbols[i].start) {
			if (n)
				symbols[n - 1].end = symbols[i].start;
			symbols[n++] = symbols[i];
		} else if (is_better(&symbols[i], &symbols[n - 1])) {
			symbols[n - 1] = symbols[i];
		}
	}
	if (n)
		symbols[n - 1].end = text_end;
	vector->n = n;
}

bool gn_text_symbols_find(struct gn_text_symbols *found, struct gn_elf *module)
{
	const struct gn_section *text = NULL;

	for (uint32_t i = 0; i < module->n_sections && !text; i++)
		if (!strcmp(module->sections[i].name, ".text"))
			text = &module->sections[i];
	if (!text)
		return false;
	found->text_start = text->address;
	found->text_end = text->address + text->size;
	for (uint32_t i = 0; i < module->n_sections; i++)
		if (module->sections[i].type == SHT_SYMTAB)
			add_table(&found->symbols, module, gn_elf_section_at(module, i));
	if (found->symbols.n)
		qsort(found->symbols.data, found->symbols.n, sizeof(struct gn_text_symbol),
		      compare);
	keep_best(&found->symbols, found->text_end);
	return true;
}

void gn_text_symbols_free(struct gn_text_symbols *found)
{
	gn_vector_free(&found->symbols);
}
