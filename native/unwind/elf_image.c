#include "elf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_reader.h"

/* More than any program has: what claims more is damaged. Rules of a program of 300 MB take 30. */
#define SECTION_BYTES_MAX ((uint64_t)256 << 20)
#define NAMES_BYTES_MAX ((uint64_t)4 << 20)
#define NOTE_BYTES_MAX ((uint64_t)64 << 10)
#define SECTIONS_MAX 65536u

size_t gn_elf_image_read(const struct gn_elf_image *image, uint64_t offset, void *to, size_t bytes)
{
	size_t done = 0;

	if (offset >= image->file_bytes)
		return 0;
	if (bytes > image->file_bytes - offset)
		bytes = image->file_bytes - offset;
	if (image->memory) {
		memcpy(to, image->memory + offset, bytes);
		return bytes;
	}
	while (image->descriptor >= 0 && done < bytes) {
		ssize_t n = pread(image->descriptor, (char *)to + done, bytes - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* A copy of bytes of the file, which must all be there. */
static int copy_bytes(const struct gn_elf_image *image, uint64_t offset, uint64_t bytes,
		      uint64_t most, uint8_t **copy)
{
	*copy = NULL;
	if (!bytes || bytes > most || offset > image->file_bytes ||
	    bytes > image->file_bytes - offset)
		return -EBADMSG;
	*copy = malloc(bytes);
	if (!*copy)
		return -ENOMEM;
	if (gn_elf_image_read(image, offset, *copy, bytes) == bytes)
		return 0;
	free(*copy);
	*copy = NULL;
	return -EBADMSG;
}

static int copy_section(const struct gn_elf_image *image, uint64_t offset, uint64_t bytes,
			uint64_t address, struct gn_section *section)
{
	int error;

	if (section->bytes)
		return 0;
	error = copy_bytes(image, offset, bytes, SECTION_BYTES_MAX, &section->bytes);
	if (error)
		return error;
	section->size = bytes;
	section->address = address;
	return 0;
}

bool gn_elf_image_address(const struct gn_elf_image *image, uint64_t offset, uint64_t *address)
{
	/* A mapping begins at a page, a segment anywhere in it: its first page has bytes of what
	 * lies before it in the file. */
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct gn_segment *segment = &image->segments[i];

		if (offset - segment->file_offset < segment->file_bytes) {
			*address = offset - segment->file_offset + segment->address;
			return true;
		}
	}
	return false;
}

/* From a linked address to the end of what the file has of its segment. */
static bool file_range(const struct gn_elf_image *image, uint64_t address, uint64_t *offset,
		       uint64_t *bytes)
{
	for (uint32_t i = 0; i < image->n_segments; i++) {
		const struct gn_segment *segment = &image->segments[i];

		if (address - segment->address < segment->file_bytes) {
			*offset = address - segment->address + segment->file_offset;
			*bytes = segment->file_bytes - (address - segment->address);
			return true;
		}
	}
	return false;
}

size_t gn_elf_image_read_at(const struct gn_elf_image *image, uint64_t address, void *to,
			    size_t bytes)
{
	uint64_t offset, left;

	if (!file_range(image, address, &offset, &left))
		return 0;
	return gn_elf_image_read(image, offset, to, bytes < left ? bytes : left);
}

/* Source: gABI, "Note Section". */
static void read_notes(struct gn_elf_image *image, uint64_t offset, uint64_t bytes)
{
	struct gn_reader reader;
	uint8_t *notes;

	if (copy_bytes(image, offset, bytes, NOTE_BYTES_MAX, &notes))
		return;
	reader = gn_reader_of(notes, 0, bytes);
	while (!reader.failed && reader.at < reader.end && !image->build_id_bytes) {
		uint32_t name_bytes = gn_read_u32(&reader);
		uint32_t text_bytes = gn_read_u32(&reader);
		uint32_t type = gn_read_u32(&reader);
		uint64_t name = reader.at, text;

		gn_skip(&reader, ((uint64_t)name_bytes + 3) & ~(uint64_t)3);
		text = reader.at;
		gn_skip(&reader, ((uint64_t)text_bytes + 3) & ~(uint64_t)3);
		if (reader.failed || type != NT_GNU_BUILD_ID || name_bytes != 4 ||
		    memcmp(notes + name, "GNU", 4) != 0 || text_bytes > GN_UNWIND_BUILD_ID_MAX)
			continue;
		memcpy(image->build_id, notes + text, text_bytes);
		image->build_id_bytes = text_bytes;
	}
	free(notes);
}

static int read_program_headers(struct gn_elf_image *image, const Elf64_Ehdr *header)
{
	Elf64_Phdr *programs;
	int error;

	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	error = copy_bytes(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr),
			   SECTION_BYTES_MAX, (uint8_t **)&programs);
	if (error)
		return error;
	image->segments = calloc(header->e_phnum, sizeof(*image->segments));
	if (!image->segments) {
		free(programs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *program = &programs[i];

		if (program->p_type == PT_LOAD) {
			image->segments[image->n_segments++] = (struct gn_segment){
				program->p_offset, program->p_filesz, program->p_vaddr};
			if (program->p_flags & PF_X)
				image->code_bytes += program->p_filesz;
		} else if (program->p_type == PT_NOTE) {
			read_notes(image, program->p_offset, program->p_filesz);
		} else if (program->p_type == PT_GNU_EH_FRAME) {
			error = copy_section(image, program->p_offset, program->p_filesz,
					     program->p_vaddr, &image->frame_header);
			if (error == -ENOMEM)
				break;
			error = 0;
		}
	}
	free(programs);
	return error;
}

/* All symbols, or in a stripped file those that others may use. */
static void note_symbols(struct gn_elf_image *image, const Elf64_Shdr *section)
{
	if (section->sh_entsize != sizeof(Elf64_Sym) ||
	    (section->sh_type != SHT_SYMTAB &&
	     (section->sh_type != SHT_DYNSYM || image->symbols_bytes)))
		return;
	image->symbols_at = section->sh_offset;
	image->symbols_bytes = section->sh_size;
}

/* Sections say how long the rules are. Many a file has none, which is no fault. */
static int read_section_headers(struct gn_elf_image *image, const Elf64_Ehdr *header)
{
	Elf64_Shdr *sections = NULL;
	char *names = NULL;
	uint64_t names_bytes;
	int error;

	if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
		return 0;
	error = copy_bytes(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr),
			   SECTIONS_MAX * sizeof(Elf64_Shdr), (uint8_t **)&sections);
	if (error)
		goto done;
	names_bytes = sections[header->e_shstrndx].sh_size;
	error = copy_bytes(image, sections[header->e_shstrndx].sh_offset, names_bytes,
			   NAMES_BYTES_MAX, (uint8_t **)&names);
	if (error)
		goto done;
	for (uint32_t i = 0; i < header->e_shnum && error != -ENOMEM; i++) {
		const Elf64_Shdr *section = &sections[i];
		struct gn_section *copy = NULL;
		const char *name = names + section->sh_name;

		note_symbols(image, section);
		if (section->sh_name >= names_bytes ||
		    !memchr(name, '\0', names_bytes - section->sh_name) ||
		    section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED)
			continue;
		if (!strcmp(name, ".eh_frame"))
			copy = &image->eh_frame;
		else if (!strcmp(name, ".eh_frame_hdr"))
			copy = &image->frame_header;
		else if (!strcmp(name, ".debug_frame"))
			copy = &image->debug_frame;
		if (copy)
			error = copy_section(image, section->sh_offset, section->sh_size,
					     section->sh_addr, copy);
	}
done:
	free(sections);
	free(names);
	return error == -ENOMEM ? error : 0;
}

/* Source: Linux Standard Base, "Exception Frames": the header says where the rules begin. */
static int find_rules_by_header(struct gn_elf_image *image)
{
	const struct gn_section *header = &image->frame_header;
	struct gn_reader reader = gn_reader_of(header->bytes, 4, header->size);
	uint64_t address, offset, bytes;
	int32_t relative;

	/* DW_EH_PE_pcrel | DW_EH_PE_sdata4, as every linker writes it. */
	if (image->eh_frame.bytes || header->size < 8 || header->bytes[1] != 0x1b)
		return 0;
	relative = (int32_t)gn_read_u32(&reader);
	address = header->address + 4 + (uint64_t)(int64_t)relative;
	if (!file_range(image, address, &offset, &bytes))
		return 0;
	return copy_section(image, offset, bytes, address, &image->eh_frame) == -ENOMEM ? -ENOMEM
											: 0;
}

static int read_image(struct gn_elf_image *image)
{
	Elf64_Ehdr header;
	int error;

	if (gn_elf_image_read(image, 0, &header, sizeof(header)) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return -ENOEXEC;
	if (header.e_machine == EM_X86_64)
		image->machine = GN_UNWIND_X86_64;
	else if (header.e_machine == EM_AARCH64)
		image->machine = GN_UNWIND_AARCH64;
	else
		return -ENOEXEC;
	image->entry_point = header.e_entry;
	error = read_program_headers(image, &header);
	if (!error)
		error = read_section_headers(image, &header);
	if (!error)
		error = find_rules_by_header(image);
	return error;
}

static int read_or_close(struct gn_elf_image *image)
{
	int error = read_image(image);

	if (error)
		gn_elf_image_close(image);
	return error;
}

int gn_elf_image_open(struct gn_elf_image *image, int descriptor)
{
	struct stat status;

	*image = (struct gn_elf_image){.descriptor = descriptor};
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode)) {
		gn_elf_image_close(image);
		return -ENOEXEC;
	}
	image->file_bytes = (uint64_t)status.st_size;
	return read_or_close(image);
}

int gn_elf_image_adopt(struct gn_elf_image *image, uint8_t *memory, uint64_t bytes)
{
	*image = (struct gn_elf_image){.descriptor = -1, .memory = memory, .file_bytes = bytes};
	return read_or_close(image);
}

void gn_elf_image_close(struct gn_elf_image *image)
{
	if (image->descriptor >= 0)
		close(image->descriptor);
	free(image->memory);
	free(image->segments);
	free(image->frame_header.bytes);
	free(image->eh_frame.bytes);
	free(image->debug_frame.bytes);
	*image = (struct gn_elf_image){.descriptor = -1};
}
