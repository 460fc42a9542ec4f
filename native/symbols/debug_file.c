/*
 * Source: GDB's manual, "Debugging Information in Separate Files"; DWARF extensions of dwz.
 */
#include "debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define POLYNOMIAL 0xedb88320u /* of the CRC-32 of .gnu_debuglink */

static uint32_t crc32_of(struct gn_span content)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? POLYNOMIAL : 0);
	}
	for (size_t i = 0; i < content.size; i++)
		crc = table[(crc ^ content.data[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static bool open_input(struct gn_elf *file, struct gn_arena *arena, const char *path,
		       struct gn_inputs *inputs)
{
	const size_t size = strlen(path) + 1;

	*(char **)gn_vector_push(&inputs->paths, sizeof(char *)) =
		memcpy(gn_arena_alloc(arena, size), path, size);
	return !gn_elf_open(file, arena, path);
}

static bool is_same_build(const struct gn_elf *file, const uint8_t *id, size_t size)
{
	return file->build_id_size == size && !memcmp(file->build_id, id, size);
}

/* The next folder of a list, cut to its length; NULL at the end. */
static const char *next_folder(const char **folders, int *length)
{
	const char *folder = *folders;

	if (!folder || !*folder)
		return NULL;
	*length = (int)strcspn(folder, ":");
	*folders = folder + *length + (folder[*length] == ':');
	return folder;
}

static bool open_by_build_id(struct gn_elf *debug, struct gn_arena *arena, const uint8_t *id,
			     size_t size, const char *folders, struct gn_inputs *inputs)
{
	char path[PATH_MAX], digits[2 * GN_BUILD_ID_MAX + 1] = "";
	const char *folder;
	int length;

	if (size < 2 || size > GN_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", id[i]);
	while ((folder = next_folder(&folders, &length))) {
		if (snprintf(path, sizeof(path), "%.*s/.build-id/%.2s/%s.debug", length, folder,
			     digits, digits + 2) >= (int)sizeof(path) ||
		    !open_input(debug, arena, path, inputs))
			continue;
		if (is_same_build(debug, id, size))
			return true;
		gn_elf_close(debug);
	}
	return false;
}

static bool is_linked(const struct gn_elf *debug, const struct gn_elf *module, uint32_t crc)
{
	if (debug->build_id_size && module->build_id_size)
		return is_same_build(debug, module->build_id, module->build_id_size);
	return crc32_of(debug->file) == crc;
}

static bool open_by_link(struct gn_elf *debug, struct gn_elf *module, const char *module_path,
			 const char *folders, struct gn_inputs *inputs)
{
	const struct gn_span link = gn_elf_content(module, ".gnu_debuglink");
	struct gn_cursor cursor = gn_cursor_new(link, 0, module->is_swapped);
	const char *name = gn_text(&cursor), *slash, *folder = "";
	char real[PATH_MAX], path[PATH_MAX];
	int length = 0, directory;
	uint32_t crc;

	if (!name || !*name || strchr(name, '/') || !realpath(module_path, real))
		return false;
	gn_skip(&cursor, -(uint64_t)(cursor.next - link.data) & 3);
	crc = gn_u32(&cursor);
	slash = strrchr(real, '/');
	if (cursor.is_bad || !slash)
		return false;
	directory = (int)(slash - real);
	for (int place = 0; folder; place++) {
		const char *below = place == 1 ? "/.debug" : "";

		/* Beside the module, in .debug beside it, then below each folder. */
		if (place >= 2 && !(folder = next_folder(&folders, &length)))
			break;
		if (snprintf(path, sizeof(path), "%.*s%.*s%s/%s", length, folder, directory, real,
			     below, name) >= (int)sizeof(path) ||
		    !strcmp(path, real) || !open_input(debug, module->arena, path, inputs))
			continue;
		if (is_linked(debug, module, crc))
			return true;
		gn_elf_close(debug);
	}
	return false;
}

bool gn_debug_file_open(struct gn_elf *debug, struct gn_elf *module, const char *path,
			const char *folders, struct gn_inputs *inputs)
{
	return open_by_build_id(debug, module->arena, module->build_id, module->build_id_size,
				folders, inputs) ||
	       open_by_link(debug, module, path, folders, inputs);
}

bool gn_debug_alternate_open(struct gn_elf *alternate, struct gn_elf *file, const char *path,
			     const char *folders, struct gn_inputs *inputs)
{
	const struct gn_span link = gn_elf_content(file, ".gnu_debugaltlink");
	struct gn_cursor cursor = gn_cursor_new(link, 0, file->is_swapped);
	const char *name = gn_text(&cursor), *slash = strrchr(path, '/');
	char longer[PATH_MAX];
	int length;

	if (!name || !*name || !gn_left(&cursor))
		return false;
	length = snprintf(longer, sizeof(longer), "%.*s/%s",
			  *name == '/' || !slash ? 0 : (int)(slash - path),
			  *name == '/' || !slash ? "" : path, *name == '/' ? name + 1 : name);
	if (length > 0 && length < (int)sizeof(longer) &&
	    open_input(alternate, file->arena, longer, inputs)) {
		if (is_same_build(alternate, cursor.next, gn_left(&cursor)))
			return true;
		gn_elf_close(alternate);
	}
	return open_by_build_id(alternate, file->arena, cursor.next, gn_left(&cursor), folders,
				inputs);
}

const char *gn_inputs_last(const struct gn_inputs *inputs)
{
	return inputs->paths.n ? ((char **)inputs->paths.data)[inputs->paths.n - 1] : "";
}
