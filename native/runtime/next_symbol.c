#include "next_symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "signal_shield.h"

#define HIDDEN_VERSION 0x8000u

struct search {
	const char *name;
	uint32_t hash;
	int has_begun; /* this object is behind those that are not looked into */
	const ElfW(Sym) * symbol;
	uintptr_t base;
};

/* Source: elf(5); for DT_GNU_HASH binutils' bfd/elflink.c. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Half) * versions;
	const uint32_t *hash, *gnu_hash;
};

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int has_address(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && address >= begin &&
		    address < begin + header->p_memsz)
			return 1;
	}
	return 0;
}

/* Some loaders add the address that an object is loaded at, others do not. */
static const void *address_of(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static int read_tables(const struct dl_phdr_info *info, struct tables *tables)
{
	const ElfW(Dyn) *entry = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *place = address_of(info->dlpi_addr, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			tables->symbols = place;
		else if (entry->d_tag == DT_STRTAB)
			tables->names = place;
		else if (entry->d_tag == DT_VERSYM)
			tables->versions = place;
		else if (entry->d_tag == DT_HASH)
			tables->hash = place;
		else if (entry->d_tag == DT_GNU_HASH)
			tables->gnu_hash = place;
	}
	return tables->symbols && tables->names;
}

/* Of several versions the one that programs are linked with now. */
static int is_it(const struct tables *tables, uint32_t number, const char *name)
{
	const ElfW(Sym) *symbol = &tables->symbols[number];

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       (symbol->st_info >> 4 == STB_GLOBAL || symbol->st_info >> 4 == STB_WEAK) &&
	       !(tables->versions && tables->versions[number] & HIDDEN_VERSION) &&
	       !strcmp(tables->names + symbol->st_name, name);
}

static const ElfW(Sym) * find(const struct tables *tables, const struct search *search)
{
	const uint32_t *head = tables->gnu_hash, *bucket, *chain;
	uint32_t number;

	if (!head) {
		for (uint32_t i = 0; tables->hash && i < tables->hash[1]; i++)
			if (is_it(tables, i, search->name))
				return &tables->symbols[i];
		return NULL;
	}
	if (!head[0])
		return NULL;
	bucket = head + 4 + head[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = bucket + head[0];
	number = bucket[search->hash % head[0]];
	for (; number && number >= head[1]; number++) {
		const uint32_t hash = chain[number - head[1]];

		if ((hash | 1) == (search->hash | 1) && is_it(tables, number, search->name))
			return &tables->symbols[number];
		if (hash & 1)
			break;
	}
	return NULL;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct tables tables = {0};

	(void)size;
	if (!search->has_begun) {
		search->has_begun = has_address(info, (uintptr_t)gn_next_symbol);
		return 0;
	}
	if (!read_tables(info, &tables))
		return 0;
	search->symbol = find(&tables, search);
	search->base = info->dlpi_addr;
	return search->symbol != NULL;
}

static void *look_up(struct search *search, void *handle)
{
	struct gn_signal_shield shield;
	void *symbol;

	search->hash = hash_of(search->name);
	dl_iterate_phdr(look_into, search);
	if (!search->symbol)
		return NULL;
	if ((search->symbol->st_info & 0xf) != STT_GNU_IFUNC)
		return (void *)(search->base + search->symbol->st_value);
	/* Which one it is depends on the processor; no call on files is of that kind. */
	gn_signal_shield_begin(&shield);
	symbol = dlsym(handle, search->name);
	gn_signal_shield_end(&shield);
	return symbol;
}

void *gn_next_symbol(const char *name)
{
	struct search search = {.name = name};

	return look_up(&search, RTLD_NEXT);
}

void *gn_any_symbol(const char *name)
{
	struct search search = {.name = name, .has_begun = 1};

	return look_up(&search, RTLD_DEFAULT);
}
