#include "loaded_object.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "next_symbol.h"

/* As the C library has it since glibc 2.35, whose header may be older; with room for what follows.
 * Source: the manual of glibc, "Dynamic Linker Introspection". */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *map;
	void *rest[32];
};

typedef int find_object(void *address, struct found_object *found);

/* By its name, as a library that was linked with it could not be loaded where it is missing. */
static find_object *find_object_function(void)
{
	static _Atomic(find_object *) function;
	static atomic_int has_looked;

	if (!atomic_load(&has_looked)) {
		atomic_store(&function, (find_object *)gn_any_symbol("_dl_find_object"));
		atomic_store(&has_looked, 1);
	}
	return atomic_load(&function);
}

struct search {
	uintptr_t address;
	struct gn_loaded_object *object;
};

const ElfW(Phdr) * gn_segment_of(const struct gn_loaded_object *object, uintptr_t address)
{
	for (uint32_t i = 0; i < object->n_headers; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		const uintptr_t begin = object->base + header->p_vaddr;

		if (header->p_type == PT_LOAD && address >= begin &&
		    address < begin + header->p_memsz)
			return header;
	}
	return NULL;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;

	(void)size;
	*search->object = (struct gn_loaded_object){info->dlpi_addr, info->dlpi_name,
						    info->dlpi_phdr, info->dlpi_phnum};
	return gn_segment_of(search->object, search->address) != NULL;
}

int gn_loaded_object_of(uintptr_t address, struct gn_loaded_object *object)
{
	struct search search = {address, object};
	find_object *const find = find_object_function();
	struct found_object found;
	const ElfW(Ehdr) * header;

	if (!find)
		return dl_iterate_phdr(look_at, &search);
	if (find((void *)address, &found))
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
