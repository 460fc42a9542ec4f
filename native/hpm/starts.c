/*
 * Where sections start: the address of the first start in its program or library, which debug
 * information makes a line of the source after the run, and what tells whether the file still is
 * the one that ran. Nothing is looked up here that costs more than the first start itself does.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section_engine.h"

struct lookup {
	uintptr_t address;
	struct hpm_module *module; /* the last one that was found, or this one */
	const char *program;
	uint64_t offset;
};

/* Whether a module has so many bytes in memory from an address on. */
static int has(const struct dl_phdr_info *loaded, uintptr_t address, size_t size)
{
	for (int i = 0; i < loaded->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
		const uintptr_t within = address - (loaded->dlpi_addr + part->p_vaddr);

		if (part->p_type == PT_LOAD && within < part->p_memsz &&
		    size <= part->p_memsz - within)
			return 1;
	}
	return 0;
}

static size_t padded(size_t size)
{
	return (size + 3) / 4 * 4;
}

/* The build id among the notes of `size` bytes that are there, in hexadecimal digits, or "". */
static void find_build_id(const char *notes, size_t size, char *to)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)notes;
		const char *name = notes + sizeof(*note);
		const size_t before = sizeof(*note) + padded(note->n_namesz);

		if (note->n_namesz > size || note->n_descsz > size ||
		    before + padded(note->n_descsz) > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
		    2 * note->n_descsz < HPM_BUILD_ID_MAX) {
			for (size_t i = 0; i < note->n_descsz; i++)
				sprintf(to + 2 * i, "%02x", (unsigned char)notes[before + i]);
			return;
		}
		notes += before + padded(note->n_descsz);
		size -= before + padded(note->n_descsz);
	}
}

/* What of a module does not change while it is loaded. */
static void describe(struct hpm_module *module, const struct dl_phdr_info *loaded,
		     const char *program)
{
	char path[PATH_MAX];

	memset(module, 0, sizeof(*module));
	module->base = loaded->dlpi_addr;
	/* One with a name that is too long is not found again, and has no path. */
	snprintf(module->name, sizeof(module->name), "%s", loaded->dlpi_name);
	if (!realpath(loaded->dlpi_name[0] ? loaded->dlpi_name : program, path) ||
	    strlen(path) >= sizeof(module->path))
		return;
	strcpy(module->path, path);
	for (int i = 0; i < loaded->dlpi_phnum && !module->build_id[0]; i++) {
		const ElfW(Phdr) *part = &loaded->dlpi_phdr[i];
		const uintptr_t notes = loaded->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_NOTE && has(loaded, notes, part->p_memsz))
			find_build_id((const char *)notes, part->p_memsz, module->build_id);
	}
}

static int is_in_module(struct dl_phdr_info *loaded, size_t size, void *context)
{
	struct lookup *wanted = context;
	struct hpm_module *module = wanted->module;

	(void)size;
	if (!has(loaded, wanted->address, 1))
		return 0;
	wanted->offset = wanted->address - loaded->dlpi_addr;
	if (!module->path[0] || module->base != loaded->dlpi_addr ||
	    strcmp(module->name, loaded->dlpi_name) != 0)
		describe(module, loaded, wanted->program);
	return 1;
}

const struct hpm_module *hpm_module_of(struct hpm_engine *engine, uintptr_t address,
				       uint64_t *offset)
{
	struct lookup wanted = {
		.address = address,
		.module = &engine->module,
		.program = engine->file.raw.header->command,
	};

	if (!dl_iterate_phdr(is_in_module, &wanted))
		return NULL;
	*offset = wanted.offset;
	return &engine->module;
}

void hpm_start_find(struct hpm_engine *engine, struct hpm_raw_slot *slot, const void *from)
{
	/* It is where the call returns to: the call is before that. */
	const struct hpm_module *module = hpm_module_of(engine, (uintptr_t)from - 1, &slot->offset);

	if (!module)
		return;
	strcpy(slot->build_id, module->build_id);
	strcpy(slot->module, module->path);
}

static int by_id(const void *one, const void *other)
{
	const struct hpm_start_address *a = one, *b = other;

	return (a->id > b->id) - (a->id < b->id);
}

struct hpm_start_address *hpm_starts_of(const struct hpm_raw *raw, int *n)
{
	const uint32_t n_slots = atomic_load(&raw->header->n_slots);
	struct hpm_start_address *starts = calloc((size_t)n_slots + 1, sizeof(*starts));

	*n = 0;
	for (uint32_t i = 0; starts && i < n_slots; i++) {
		const struct hpm_raw_slot *slot = hpm_raw_slot_at(raw, i);

		if (!slot->module[0])
			continue;
		starts[(*n)++] = (struct hpm_start_address){
			.id = slot->id,
			.offset = slot->offset,
			.label = slot->label,
			.module = slot->module,
			.build_id = slot->build_id,
		};
	}
	if (*n)
		qsort(starts, (size_t)*n, sizeof(*starts), by_id);
	return starts;
}
