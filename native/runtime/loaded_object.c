#include "loaded_object.h"

#include <stddef.h>
#include <string.h>

/* As the C library has it since glibc 2.35, whose header may be older; with room for what follows.
 * Source: the manual of glibc, "Dynamic Linker Introspection". */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *rest[32];
};

extern int find_object(void *address, struct found_object *found) __asm__("_dl_find_object")
	__attribute__((weak));

struct search {
	uintptr_t address;
	struct gn_loaded_object *object;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || search->address < begin ||
		    search->address >= begin + info->dlpi_phdr[i].p_memsz)
			continue;
		*search->object = (struct gn_loaded_object){info->dlpi_addr, info->dlpi_name,
							    info->dlpi_phdr, info->dlpi_phnum};
		return 1;
	}
	return 0;
}

int gn_loaded_object_of(uintptr_t address, struct gn_loaded_object *object)
{
	struct search search = {address, object};
	struct found_object found;
	const ElfW(Ehdr) * header;

	if (!find_object)
		return dl_iterate_phdr(look_at, &search);
	if (find_object((void *)address, &found))
		return 0;
	*object = (struct gn_loaded_object){.base = found.map->l_addr, .name = found.map->l_name};
	/* Linkers put it in the first segment. */
	header = found.map_start;
	if (!memcmp(header->e_ident, ELFMAG, SELFMAG)) {
		object->headers = (const void *)((const char *)header + header->e_phoff);
		object->n_headers = header->e_phnum;
	}
	return 1;
}
