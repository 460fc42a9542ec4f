#include "elf_file.h"

#include "decompress.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_COMPRESSED "ZLIB" /* of sections .zdebug_*, before ELF had compression of its own */

struct header {
	uint64_t segments, sections;
	uint32_t segment_size, n_segments, section_size, n_sections, names;
};

static uint64_t word(const struct gn_elf *elf, struct gn_cursor *cursor)
{
	return elf->is_wide ? gn_u64(cursor) : gn_u32(cursor);
}

static int parse_header(struct gn_elf *elf, struct header *header)
{
	struct gn_cursor cursor;

	if (elf->file.size < EI_NIDENT || memcmp(elf->file.data, ELFMAG, SELFMAG))
		return -ENOEXEC;
	elf->is_wide = elf->file.data[EI_CLASS] == ELFCLASS64;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	elf->is_swapped = elf->file.data[EI_DATA] == ELFDATA2MSB;
#else
	elf->is_swapped = elf->file.data[EI_DATA] == ELFDATA2LSB;
#endif
	cursor = gn_cursor_new(elf->file, EI_NIDENT + 2, elf->is_swapped);
	elf->machine = gn_u16(&cursor);
	gn_skip(&cursor, 4);
	word(elf, &cursor);
	header->segments = word(elf, &cursor);
	header->sections = word(elf, &cursor);
	gn_skip(&cursor, 6);
	header->segment_size = gn_u16(&cursor);
	header->n_segments = gn_u16(&cursor);
	header->section_size = gn_u16(&cursor);
	header->n_sections = gn_u16(&cursor);
	header->names = gn_u16(&cursor);
	return cursor.is_bad ? -ENOEXEC : 0;
}

static void parse_section(struct gn_elf *elf, const struct header *header, uint32_t number,
			  struct gn_section *section, uint32_t *name)
{
	struct gn_cursor cursor =
		gn_cursor_new(elf->file, header->sections + (uint64_t)number * header->section_size,
			      elf->is_swapped);

	*name = gn_u32(&cursor);
	section->type = gn_u32(&cursor);
	section->flags = word(elf, &cursor);
	section->address = word(elf, &cursor);
	section->offset = word(elf, &cursor);
	section->size = word(elf, &cursor);
	section->link = gn_u32(&cursor);
	gn_u32(&cursor);
	word(elf, &cursor);
	section->entry_size = word(elf, &cursor);
	if (cursor.is_bad)
		*section = (struct gn_section){0};
}

static struct gn_span raw_content(const struct gn_elf *elf, const struct gn_section *section)
{
	if (section->type == SHT_NOBITS || section->offset > elf->file.size ||
	    section->size > elf->file.size - section->offset)
		return (struct gn_span){elf->file.data, 0};
	return (struct gn_span){elf->file.data + section->offset, section->size};
}

static void parse_sections(struct gn_elf *elf, struct header *header)
{
	const uint32_t least = elf->is_wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct gn_section first = {0};
	struct gn_span names = {elf->file.data, 0};
	uint32_t name;
	uint64_t n_max;

	if (!header->sections || header->section_size < least || header->sections >= elf->file.size)
		return;
	/* More than 65,279 sections: their number stands in the first. */
	parse_section(elf, header, 0, &first, &name);
	if (!header->n_sections)
		header->n_sections = (uint32_t)first.size;
	if (header->names == SHN_XINDEX)
		header->names = first.link;
	n_max = (elf->file.size - header->sections) / header->section_size;
	elf->n_sections = header->n_sections < n_max ? header->n_sections : (uint32_t)n_max;
	elf->sections = gn_arena_array(elf->arena, elf->n_sections, sizeof(*elf->sections));
	if (header->names < elf->n_sections) {
		parse_section(elf, header, header->names, &first, &name);
		names = raw_content(elf, &first);
	}
	for (uint32_t i = 0; i < elf->n_sections; i++) {
		parse_section(elf, header, i, &elf->sections[i], &name);
		elf->sections[i].name = gn_text_at(names, name);
		if (!elf->sections[i].name)
			elf->sections[i].name = "";
	}
}

/* NT_GNU_BUILD_ID among notes. */
static void find_build_id(struct gn_elf *elf, struct gn_span notes)
{
	struct gn_cursor cursor = gn_cursor_new(notes, 0, elf->is_swapped);

	while (!elf->build_id_size && gn_left(&cursor) >= 12) {
		const uint32_t name_size = gn_u32(&cursor), size = gn_u32(&cursor);
		const uint32_t type = gn_u32(&cursor);
		const uint8_t *name = cursor.next;

		gn_skip(&cursor, ((uint64_t)name_size + 3) & ~(uint64_t)3);
		if (cursor.is_bad || size > gn_left(&cursor))
			return;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) &&
		    size <= GN_BUILD_ID_MAX) {
			memcpy(elf->build_id, cursor.next, size);
			elf->build_id_size = size;
		}
		gn_skip(&cursor, ((uint64_t)size + 3) & ~(uint64_t)3);
	}
}

static void parse_segments(struct gn_elf *elf, const struct header *header)
{
	const uint32_t least = elf->is_wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint32_t n = header->n_segments;

	if (header->segment_size < least || header->segments >= elf->file.size)
		return;
	if (n > (elf->file.size - header->segments) / header->segment_size)
		n = (uint32_t)((elf->file.size - header->segments) / header->segment_size);
	elf->code = gn_arena_array(elf->arena, n, sizeof(*elf->code));
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t at = header->segments + (uint64_t)i * header->segment_size;
		struct gn_cursor cursor = gn_cursor_new(elf->file, at, elf->is_swapped);
		struct gn_section bytes = {0};
		uint64_t memory_size;
		uint32_t type, flags = 0;

		type = gn_u32(&cursor);
		if (elf->is_wide)
			flags = gn_u32(&cursor);
		bytes.offset = word(elf, &cursor);
		bytes.address = word(elf, &cursor);
		word(elf, &cursor);
		bytes.size = word(elf, &cursor);
		memory_size = word(elf, &cursor);
		if (!elf->is_wide)
			flags = gn_u32(&cursor);
		if (type == PT_LOAD && flags & PF_X)
			elf->code[elf->n_code++] = (struct gn_segment){bytes.address, memory_size,
								       raw_content(elf, &bytes)};
		/* Files of debug information keep the headers of notes, but not their place. */
		if (type == PT_NOTE && !elf->build_id_size)
			find_build_id(elf, raw_content(elf, &bytes));
	}
}

int gn_elf_parse(struct gn_elf *elf, struct gn_arena *arena, struct gn_span file)
{
	struct header header = {0};
	int error;

	*elf = (struct gn_elf){.arena = arena, .file = file};
	error = parse_header(elf, &header);
	if (error)
		return error;
	parse_sections(elf, &header);
	for (uint32_t i = 0; i < elf->n_sections; i++)
		if (elf->sections[i].type == SHT_NOTE)
			find_build_id(elf, raw_content(elf, &elf->sections[i]));
	parse_segments(elf, &header);
	return 0;
}

int gn_elf_open(struct gn_elf *elf, struct gn_arena *arena, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	void *mapping = NULL;
	int error = 0;

	*elf = (struct gn_elf){.arena = arena};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		error = -errno;
	else if (!S_ISREG(status.st_mode) || status.st_size < EI_NIDENT)
		error = -ENOEXEC;
	else
		mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!error && mapping == MAP_FAILED)
		error = -errno;
	close(fd);
	if (error)
		return error;
	error = gn_elf_parse(elf, arena, (struct gn_span){mapping, (size_t)status.st_size});
	elf->mapping = mapping;
	if (error)
		gn_elf_close(elf);
	return error;
}

void gn_elf_close(struct gn_elf *elf)
{
	if (elf->mapping)
		munmap(elf->mapping, elf->file.size);
	*elf = (struct gn_elf){0};
}

/* --- sections --------------------------------------------------------------------------------- */

static void load(struct gn_elf *elf, struct gn_section *section)
{
	struct gn_span content = raw_content(elf, section);
	struct gn_cursor cursor = gn_cursor_new(content, 0, elf->is_swapped);
	const size_t old = strlen(OLD_COMPRESSED);
	uint64_t size;
	uint32_t type;

	section->is_loaded = true;
	section->content = (struct gn_span){elf->file.data, 0};
	if (section->flags & SHF_COMPRESSED) {
		type = gn_u32(&cursor);
		if (elf->is_wide)
			gn_u32(&cursor);
		size = word(elf, &cursor);
		word(elf, &cursor);
	} else if (!strncmp(section->name, ".zdebug_", 8) && content.size > old + 8 &&
		   !memcmp(content.data, OLD_COMPRESSED, old)) {
		type = GN_ZLIB;
		size = 0;
		for (size_t i = 0; i < 8; i++)
			size = size << 8 | content.data[old + i];
		gn_skip(&cursor, old + 8);
	} else {
		section->content = content;
		return;
	}
	content = (struct gn_span){cursor.next, gn_left(&cursor)};
	if (!cursor.is_bad)
		gn_decompress(elf->arena, type, content, size, &section->content);
}

const struct gn_section *gn_elf_section_at(struct gn_elf *elf, uint32_t number)
{
	if (number >= elf->n_sections)
		return NULL;
	if (!elf->sections[number].is_loaded)
		load(elf, &elf->sections[number]);
	return &elf->sections[number];
}

const struct gn_section *gn_elf_section(struct gn_elf *elf, const char *name)
{
	for (uint32_t i = 0; i < elf->n_sections; i++) {
		const char *its = elf->sections[i].name;
		const bool is_old = !strncmp(its, ".zdebug_", 8) && !strncmp(name, ".debug_", 7) &&
				    !strcmp(its + 8, name + 7);

		if ((is_old || !strcmp(its, name)) && elf->sections[i].type != SHT_NOBITS &&
		    gn_elf_section_at(elf, i)->content.size)
			return &elf->sections[i];
	}
	return NULL;
}

struct gn_span gn_elf_content(struct gn_elf *elf, const char *name)
{
	const struct gn_section *section = gn_elf_section(elf, name);

	return section ? section->content : (struct gn_span){(const uint8_t *)"", 0};
}

bool gn_elf_is_code(const struct gn_elf *elf, uint64_t address)
{
	for (uint32_t i = 0; i < elf->n_code; i++)
		if (address - elf->code[i].address < elf->code[i].size &&
		    address >= elf->code[i].address)
			return true;
	return !elf->n_code;
}

struct gn_span gn_elf_code(const struct gn_elf *elf, uint64_t address, uint64_t size)
{
	for (uint32_t i = 0; i < elf->n_code; i++) {
		const struct gn_segment *code = &elf->code[i];
		const uint64_t offset = address - code->address;

		if (address >= code->address && offset < code->content.size &&
		    size <= code->content.size - offset)
			return (struct gn_span){code->content.data + offset, size};
	}
	return (struct gn_span){elf->file.data, 0};
}
