#include "next_symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "signal_shield.h"

#define HIDDEN_VERSION 0x8000u

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

/* Some loaders add the address that an object is loaded at, others do not. */
static const void *address_of(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static int read_tables(const struct link_map *map, struct tables *tables)
{
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		const void *place = address_of(map->l_addr, entry->d_un.d_ptr);

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

static const ElfW(Sym) * find(const struct tables *tables, const char *name)
{
	const uint32_t *head = tables->gnu_hash, *bucket, *chain;
	const uint32_t wanted = hash_of(name);
	uint32_t number;

	if (!head) {
		for (uint32_t i = 0; tables->hash && i < tables->hash[1]; i++)
			if (is_it(tables, i, name))
				return &tables->symbols[i];
		return NULL;
	}
	if (!head[0])
		return NULL;
	bucket = head + 4 + head[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = bucket + head[0];
	number = bucket[wanted % head[0]];
	for (; number && number >= head[1]; number++) {
		const uint32_t hash = chain[number - head[1]];

		if ((hash | 1) == (wanted | 1) && is_it(tables, number, name))
			return &tables->symbols[number];
		if (hash & 1)
			break;
	}
	return NULL;
}

/*
 * What is loaded, the program first. By the program's own tables, where debuggers look: glibc's
 * _r_debug is not there in other C libraries. Source: the header link.h, of struct r_debug.
 */
static const struct link_map *first_map(void)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
	const unsigned long n = headers ? getauxval(AT_PHNUM) : 0;
	const ElfW(Dyn) *entry = NULL;
	uintptr_t base = 0;

	for (unsigned long i = 0; i < n; i++)
		if (headers[i].p_type == PT_PHDR)
			base = (uintptr_t)headers - headers[i].p_vaddr;
	for (unsigned long i = 0; i < n; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			entry = (const void *)(base + headers[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr)
			return ((const struct r_debug *)entry->d_un.d_ptr)->r_map;
	return NULL;
}

static void *look_up(const struct link_map *first, const char *name, void *handle)
{
	const ElfW(Sym) *symbol = NULL;
	struct gn_signal_shield shield;
	const struct link_map *map;
	void *found;

	for (map = first; map; map = map->l_next) {
		struct tables tables = {0};

		symbol = read_tables(map, &tables) ? find(&tables, name) : NULL;
		if (symbol)
			break;
	}
	if (!symbol)
		return NULL;
	if ((symbol->st_info & 0xf) != STT_GNU_IFUNC)
		return (void *)(map->l_addr + symbol->st_value);
	/* Which one it is depends on the processor; no call on files is of that kind. */
	gn_signal_shield_begin(&shield);
	found = dlsym(handle, name);
	gn_signal_shield_end(&shield);
	return found;
}

void *gn_next_symbol(const char *name)
{
	const struct link_map *map = first_map();

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map ? look_up(map->l_next, name, RTLD_NEXT) : NULL;
}

void *gn_any_symbol(const char *name)
{
	return look_up(first_map(), name, RTLD_DEFAULT);
}
