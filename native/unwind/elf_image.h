/* What unwinding needs of a program or library: copies of its rules, and where its code lies. */
#ifndef GN_ELF_IMAGE_H
#define GN_ELF_IMAGE_H

#include <gnomon/unwind.h>
#include <stdbool.h>
#include <stdint.h>

/* A part of a file, copied, so that nobody can take it away while it is read. */
struct gn_section {
	uint8_t *bytes;
	uint64_t size;
	/* Where it is linked to. */
	uint64_t address;
};

struct gn_segment {
	uint64_t file_offset;
	uint64_t file_bytes;
	uint64_t address;
};

struct gn_elf_image {
	/* The file for what is not copied, -1 if it is closed. */
	int descriptor;
	/* An image in memory (the vDSO) in place of a file. */
	uint8_t *memory;
	uint64_t file_bytes;
	enum gn_unwind_machine machine;
	uint64_t entry_point;
	struct gn_segment *segments;
	uint32_t n_segments;
	uint64_t code_bytes;
	/* Of the symbols, which are not copied: offset in the file, 0 bytes if there are none. */
	uint64_t symbols_at;
	uint64_t symbols_bytes;
	struct gn_section frame_header;
	struct gn_section eh_frame;
	struct gn_section debug_frame;
	uint8_t build_id[GN_UNWIND_BUILD_ID_MAX];
	uint32_t build_id_bytes;
};

/* Takes the descriptor over. -ENOEXEC: no ELF file of a machine that is unwound here; -EBADMSG: a
 * damaged one. */
int gn_elf_image_open(struct gn_elf_image *image, int descriptor);
/* Takes over an image in memory, that of the vDSO. */
int gn_elf_image_adopt(struct gn_elf_image *image, uint8_t *memory, uint64_t bytes);
void gn_elf_image_close(struct gn_elf_image *image);

/* Copies bytes of the file; the number of those that there are. */
size_t gn_elf_image_read(const struct gn_elf_image *image, uint64_t offset, void *to, size_t bytes);

/* The same by linked address. */
size_t gn_elf_image_read_at(const struct gn_elf_image *image, uint64_t address, void *to,
			    size_t bytes);

/* The linked address of an offset in the file. */
bool gn_elf_image_address(const struct gn_elf_image *image, uint64_t offset, uint64_t *address);

#endif
