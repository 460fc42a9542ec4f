/*
 * Source: System V ABI for x86-64, 5.2 (the procedure linkage table): each stub jumps by way of a
 * slot that a relocation fills with the function's address.
 */
#include "plt.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#define STUB_SIZE 16
#define NAME_SIZE 4096

/* A slot and the symbol whose address it gets. */
struct slot {
	uint64_t address;
	uint32_t symbol;
};

static int compare(const void *a, const void *b)
{
	const struct slot *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

static void read_slots(struct gn_elf *module, struct gn_vector *slots)
{
	for (uint32_t i = 0; i < module->n_sections; i++) {
		const struct gn_section *section = &module->sections[i];
		struct gn_cursor cursor;

		if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC))
			continue;
		section = gn_elf_section_at(module, i);
		cursor = gn_cursor_new(section->content, 0, module->is_swapped);
		while (gn_left(&cursor) >= sizeof(Elf64_Rela)) {
			struct slot slot = {.address = gn_u64(&cursor)};
			const uint64_t info = gn_u64(&cursor);
			const uint32_t type = ELF64_R_TYPE(info);

			gn_u64(&cursor);
			slot.symbol = ELF64_R_SYM(info);
			if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				memcpy(gn_vector_push(slots, sizeof(slot)), &slot, sizeof(slot));
		}
	}
	if (slots->n)
		qsort(slots->data, slots->n, sizeof(struct slot), compare);
}

static const char *symbol_name(struct gn_elf *module, uint32_t number)
{
	const struct gn_section *table = gn_elf_section(module, ".dynsym");
	const struct gn_section *texts = table ? gn_elf_section_at(module, table->link) : NULL;
	struct gn_cursor cursor;
	const char *name;

	if (!texts)
		return NULL;
	cursor = gn_cursor_new(table->content, (uint64_t)number * sizeof(Elf64_Sym),
			       module->is_swapped);
	name = gn_text_at(texts->content, gn_u32(&cursor));
	return cursor.is_bad || !name || !*name ? NULL : name;
}

/* The slot that a stub jumps by: jmp *offset(%rip), behind endbr64 or bnd if there. */
static bool slot_of_stub(const uint8_t *stub, size_t size, uint64_t address, uint64_t *slot)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		uint32_t offset;

		if (stub[i] != 0xff || stub[i + 1] != 0x25)
			continue;
		memcpy(&offset, stub + i + 2, sizeof(offset));
		*slot = address + i + 6 + (uint64_t)(int32_t)le32toh(offset);
		return true;
	}
	return false;
}

static void add_stubs(struct gn_elf_symbols *symbols, struct gn_elf *module,
		      const struct gn_section *section, const struct gn_vector *slots)
{
	const size_t step = strcmp(section->name, ".plt.got") ? STUB_SIZE : STUB_SIZE / 2;
	char name[NAME_SIZE];

	for (size_t i = 0; i + step <= section->content.size; i += step) {
		struct slot key = {0, 0}, *slot;
		struct gn_function function = {.start = section->address + i, .size = step};
		const char *target;
		int length;

		if (!slot_of_stub(section->content.data + i, step, function.start, &key.address))
			continue;
		slot = bsearch(&key, slots->data, slots->n, sizeof(key), compare);
		target = slot ? symbol_name(module, slot->symbol) : NULL;
		if (!target || !gn_elf_is_code(module, function.start))
			continue;
		length = snprintf(name, sizeof(name), "%s@plt", target);
		if (length >= (int)sizeof(name))
			continue;
		function.name = memcpy(gn_arena_alloc(module->arena, (size_t)length + 1), name,
				       (size_t)length + 1);
		memcpy(gn_vector_push(&symbols->functions, sizeof(function)), &function,
		       sizeof(function));
	}
}

void gn_plt_add(struct gn_elf_symbols *symbols, struct gn_elf *module)
{
	struct gn_vector slots = {0};

	if (module->machine != EM_X86_64 || !module->is_wide)
		return;
	read_slots(module, &slots);
	for (uint32_t i = 0; i < module->n_sections && slots.n; i++)
		if (!strncmp(module->sections[i].name, ".plt", 4) &&
		    module->sections[i].type == SHT_PROGBITS)
			add_stubs(symbols, module, gn_elf_section_at(module, i), &slots);
	gn_vector_free(&slots);
}
