#include "elf_symbols.h"

#include "decompress.h"

#include <stdlib.h>

#define OUTWARDS_MAX 1024

/* What people call a function stands before its internal names: `write`, then `__write`. */
static uint32_t rank_of(const char *name, uint8_t info, uint64_t size)
{
	uint32_t rank = size ? 0 : 1 << 24;

	if (ELF64_ST_BIND(info) == STB_LOCAL)
		rank |= 1 << 20;
	if (ELF64_ST_TYPE(info) == STT_NOTYPE)
		rank |= 1 << 21;
	for (uint32_t n = 0; name[n] == '_' && n < 8; n++)
		rank += 1 << 12;
	return rank | (ELF64_ST_BIND(info) == STB_WEAK ? 1 << 11 : 0);
}

/* Marks of assemblers for code and data, not functions: $a, $x, $d and the like. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static void add_table(struct gn_elf_symbols *symbols, struct gn_elf *file,
		      const struct gn_elf *module, const struct gn_section *table)
{
	const struct gn_section *texts = gn_elf_section_at(file, table->link);
	const size_t size = file->is_wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct gn_cursor cursor = gn_cursor_new(table->content, 0, file->is_swapped);

	if (!texts || texts->type != SHT_STRTAB)
		return;
	while (gn_left(&cursor) >= size) {
		const uint32_t name_offset = gn_u32(&cursor);
		struct gn_function function = {0};
		uint8_t info = 0, type;
		uint16_t section;

		if (file->is_wide) {
			info = gn_u8(&cursor);
			gn_u8(&cursor);
			section = gn_u16(&cursor);
			function.start = gn_u64(&cursor);
			function.size = gn_u64(&cursor);
		} else {
			function.start = gn_u32(&cursor);
			function.size = gn_u32(&cursor);
			info = gn_u8(&cursor);
			gn_u8(&cursor);
			section = gn_u16(&cursor);
		}
		type = ELF64_ST_TYPE(info);
		/* STT_NOTYPE: labels of assembly, which are its functions. */
		if (section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
		    !gn_elf_is_code(module, function.start))
			continue;
		function.name = gn_text_at(texts->content, name_offset);
		if (!function.name || !*function.name || is_mapping_symbol(function.name))
			continue;
		function.rank = rank_of(function.name, info, function.size);
		memcpy(gn_vector_push(&symbols->functions, sizeof(function)), &function,
		       sizeof(function));
	}
}

void gn_elf_symbols_add(struct gn_elf_symbols *symbols, struct gn_elf *file,
			const struct gn_elf *module)
{
	for (uint32_t i = 0; i < file->n_sections; i++)
		if (file->sections[i].type == SHT_SYMTAB || file->sections[i].type == SHT_DYNSYM)
			add_table(symbols, file, module, gn_elf_section_at(file, i));
}

void gn_elf_symbols_add_mini(struct gn_elf_symbols *symbols, struct gn_elf *module)
{
	const struct gn_span compressed = gn_elf_content(module, ".gnu_debugdata");
	struct gn_span content;
	struct gn_elf mini;

	if (compressed.size && gn_decompress_xz(module->arena, compressed, &content) &&
	    !gn_elf_parse(&mini, module->arena, content))
		gn_elf_symbols_add(symbols, &mini, module);
}

static int compare(const void *a, const void *b)
{
	const struct gn_function *one = a, *other = b;
	size_t length, its;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	length = strlen(one->name);
	its = strlen(other->name);
	if (length != its)
		return length < its ? -1 : 1;
	return strcmp(one->name, other->name);
}

void gn_elf_symbols_sort(struct gn_elf_symbols *symbols)
{
	struct gn_function *functions = symbols->functions.data;
	uint64_t end_max = 0;
	size_t n = 0;

	if (symbols->functions.n)
		qsort(functions, symbols->functions.n, sizeof(*functions), compare);
	for (size_t i = 0; i < symbols->functions.n; i++) {
		if (n && functions[n - 1].start == functions[i].start) {
			if (functions[n - 1].size < functions[i].size)
				functions[n - 1].size = functions[i].size;
		} else {
			functions[n++] = functions[i];
		}
	}
	symbols->functions.n = n;
	for (size_t i = 0; i < n; i++) {
		const uint64_t end = functions[i].start + functions[i].size;

		/* Without a size, as hand-written assembly often is: up to the next symbol. */
		if (!functions[i].size && functions[i].start >= end_max && i + 1 < n)
			functions[i].size = functions[i + 1].start - functions[i].start;
		else if (end < functions[i].start)
			functions[i].size = 0;
		if (functions[i].start + functions[i].size > end_max)
			end_max = functions[i].start + functions[i].size;
		functions[i].end_max = end_max;
	}
}

const struct gn_function *gn_elf_symbols_find(const struct gn_elf_symbols *symbols,
					      uint64_t address)
{
	const struct gn_function *functions = symbols->functions.data;
	size_t low = 0, high = symbols->functions.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t n = 0; low && n < OUTWARDS_MAX && functions[low - 1].end_max > address;
	     n++, low--)
		if (address - functions[low - 1].start < functions[low - 1].size)
			return &functions[low - 1];
	return NULL;
}

void gn_elf_symbols_free(struct gn_elf_symbols *symbols)
{
	gn_vector_free(&symbols->functions);
}
