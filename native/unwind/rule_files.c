#include "rule_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfa_program.h"
#include "machine_code.h"
#include "stack_memory.h"

#define FILES_MAX (1u << 20)
#define BUCKETS 4096u
/* Open at a time, for what is not copied (code around addresses without rules). */
#define DESCRIPTORS_MAX 128u
#define VDSO_BYTES_MAX ((uint64_t)64 << 10)
/* Processes whose copy of a path is tried. */
#define TRIES_MAX 8u
/* Libraries have an entry for some 300 bytes of code, what is built without tables 20 KB and more.
 */
#define SPARSE_CODE_BYTES 8192u
#define ENTRY_POINT_BYTES 64u

int gn_unwind_files_new(struct gn_unwind_files **files)
{
	struct gn_unwind_files *created = calloc(1, sizeof(*created));

	if (!created)
		return -ENOMEM;
	created->by_identity = malloc(BUCKETS * sizeof(*created->by_identity));
	created->second_copy = malloc(GN_SECOND_COPY_BYTES);
	if (!created->by_identity || !created->second_copy) {
		gn_unwind_files_free(created);
		return -ENOMEM;
	}
	memset(created->by_identity, 0xff, BUCKETS * sizeof(*created->by_identity));
	*files = created;
	return 0;
}

static void close_file(struct gn_rule_file *file)
{
	gn_rule_cache_free(&file->cache);
	gn_code_functions_free(&file->functions);
	gn_entry_index_close(&file->index);
	gn_elf_image_close(&file->image);
}

void gn_unwind_files_free(struct gn_unwind_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->n; i++) {
		if (!files->files[i]->status)
			close_file(files->files[i]);
		free(files->files[i]->path);
		free(files->files[i]->outer_path);
		free(files->files[i]);
	}
	free(files->files);
	free(files->by_identity);
	free(files->second_copy);
	free(files);
}

static uint32_t bucket_of(const struct gn_unwind_mapping *mapping)
{
	uint64_t sum = mapping->device ^ mapping->inode * 0x9e3779b97f4a7c15u ^ mapping->generation;

	for (const char *c = mapping->path; *c; c++)
		sum = (sum ^ (uint8_t)*c) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(sum >> 32) % BUCKETS;
}

static bool is_same(const struct gn_rule_file *file, const struct gn_unwind_mapping *mapping)
{
	return file->inode == mapping->inode && file->device == mapping->device &&
	       file->generation == mapping->generation && !strcmp(file->path, mapping->path);
}

/* A new file, not opened. */
static uint32_t add_file(struct gn_unwind_files *files, const char *path)
{
	struct gn_rule_file *file;

	if (files->n == files->capacity) {
		uint32_t capacity = files->capacity ? 2 * files->capacity : 64;
		void *more = NULL;

		if (capacity <= FILES_MAX)
			more = realloc(files->files, capacity * sizeof(*files->files));
		if (!more)
			return GN_UNWIND_NO_FILE;
		files->files = more;
		files->capacity = capacity;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return GN_UNWIND_NO_FILE;
	file->status = -EAGAIN;
	file->next = GN_UNWIND_NO_FILE;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return GN_UNWIND_NO_FILE;
	}
	files->files[files->n] = file;
	return files->n++;
}

uint32_t gn_rule_file_number(struct gn_unwind_files *files, const struct gn_unwind_mapping *mapping)
{
	uint32_t *bucket, number;
	struct gn_rule_file *file;

	if (!mapping->path || (mapping->path[0] != '/' && strcmp(mapping->path, "[vdso]") != 0) ||
	    !strncmp(mapping->path, "//anon", 6))
		return GN_UNWIND_NO_FILE;
	bucket = &files->by_identity[bucket_of(mapping)];
	for (number = *bucket; number != GN_UNWIND_NO_FILE; number = files->files[number]->next)
		if (is_same(files->files[number], mapping))
			return number;
	number = add_file(files, mapping->path);
	if (number == GN_UNWIND_NO_FILE)
		return number;
	file = files->files[number];
	file->device = mapping->device;
	file->inode = mapping->inode;
	file->generation = mapping->generation;
	file->next = *bucket;
	*bucket = number;
	return number;
}

static int open_regular(const char *path)
{
	/* A path may be that of a FIFO or a device by now: neither to wait nor to begin anything.
	 */
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* The same file as the process mapped, or what is now in its place; -1 if there is none. */
static int open_mapped(const struct gn_rule_file *file, const struct gn_mapped_at *mapped)
{
	char path[4096 + 64], root[1];
	struct stat status;
	int descriptor;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", mapped->pid,
		 (unsigned long long)mapped->start,
		 (unsigned long long)(mapped->start + mapped->length));
	descriptor = open_regular(path);
	if (descriptor >= 0)
		return descriptor;
	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", mapped->pid, file->path) <
	    sizeof(path))
		descriptor = open_regular(path);
	if (descriptor >= 0)
		return descriptor;
	/* One that has ended and was not waited for has no root any more. */
	snprintf(path, sizeof(path), "/proc/%d/root", mapped->pid);
	if (readlink(path, root, sizeof(root)) >= 0)
		return -1;
	/* The process is gone. Its root may have been another one, so the inode must agree. */
	descriptor = open_regular(file->path);
	if (descriptor >= 0 && file->inode &&
	    (fstat(descriptor, &status) || status.st_ino != file->inode)) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

/*
 * The file as it is for us: its inode, and its path if its process has another root. Only where
 * that leads to the same file: its mount may be none of ours.
 */
static void note_place(struct gn_rule_file *file, int descriptor)
{
	char link[40], seen[4096];
	struct stat here, status;
	ssize_t length;

	if (fstat(descriptor, &here))
		return;
	file->opened_inode = here.st_ino;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	length = readlink(link, seen, sizeof(seen));
	if (length <= 0 || (size_t)length >= sizeof(seen))
		return;
	seen[length] = '\0';
	if (seen[0] != '/' || !strcmp(seen, file->path) || stat(seen, &status) ||
	    status.st_ino != here.st_ino || status.st_dev != here.st_dev)
		return;
	free(file->outer_path);
	file->outer_path = strdup(seen);
}

static int open_vdso(struct gn_rule_file *file, const struct gn_mapped_at *mapped)
{
	uint64_t bytes = mapped->length < VDSO_BYTES_MAX ? mapped->length : VDSO_BYTES_MAX;
	uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		return -ENOMEM;
	if (gn_process_read(mapped->pid, mapped->start, copy, bytes) != bytes) {
		/* All processes of a machine have the same. */
		uint64_t own = getauxval(AT_SYSINFO_EHDR);

		if (!own || gn_process_read(getpid(), own, copy, bytes) != bytes) {
			free(copy);
			return -ESRCH;
		}
	}
	return gn_elf_image_adopt(&file->image, copy, bytes);
}

static void read_rules(struct gn_unwind_files *files, struct gn_rule_file *file)
{
	struct gn_elf_image *image = &file->image;

	if (!file->status)
		file->status = gn_entry_index_open(&file->index, image);
	else
		return;
	if (file->status) {
		gn_elf_image_close(image);
		return;
	}
	file->is_sparse =
		gn_entry_index_count(&file->index) < image->code_bytes / SPARSE_CODE_BYTES;
	if (image->descriptor < 0)
		return;
	if (files->n_descriptors < DESCRIPTORS_MAX) {
		files->n_descriptors++;
	} else {
		close(image->descriptor);
		image->descriptor = -1;
	}
}

struct gn_rule_file *gn_rule_file(struct gn_unwind_files *files, uint32_t number,
				  const struct gn_mapped_at *mapped)
{
	struct gn_rule_file *file;

	if (number >= files->n)
		return NULL;
	file = files->files[number];
	if (!file->status)
		return file;
	if (!mapped || file->tries == TRIES_MAX || file->tried_pid == mapped->pid)
		return NULL;
	file->tries++;
	file->tried_pid = mapped->pid;
	if (file->path[0] == '[') {
		file->status = open_vdso(file, mapped);
	} else {
		int descriptor = open_mapped(file, mapped);

		if (descriptor >= 0)
			note_place(file, descriptor);
		file->status =
			descriptor < 0 ? -ENOENT : gn_elf_image_open(&file->image, descriptor);
	}
	read_rules(files, file);
	return file->status ? NULL : file;
}

int gn_unwind_file_open(struct gn_unwind_files *files, const char *path, uint32_t *number)
{
	int descriptor = open_regular(path), error;
	struct gn_rule_file *file;

	if (descriptor < 0)
		return -errno;
	*number = add_file(files, path);
	if (*number == GN_UNWIND_NO_FILE) {
		close(descriptor);
		return -ENOMEM;
	}
	file = files->files[*number];
	file->status = gn_elf_image_open(&file->image, descriptor);
	read_rules(files, file);
	error = file->status;
	file->tries = TRIES_MAX;
	return error;
}

uint32_t gn_unwind_files_count(const struct gn_unwind_files *files)
{
	return files->n;
}

const char *gn_unwind_file_path(const struct gn_unwind_files *files, uint32_t number)
{
	const struct gn_rule_file *file = number < files->n ? files->files[number] : NULL;

	return file && file->outer_path ? file->outer_path : file ? file->path : NULL;
}

uint64_t gn_unwind_file_inode(const struct gn_unwind_files *files, uint32_t number)
{
	const struct gn_rule_file *file = number < files->n ? files->files[number] : NULL;

	return file && file->opened_inode ? file->opened_inode : file ? file->inode : 0;
}

size_t gn_unwind_file_build_id(const struct gn_unwind_files *files, uint32_t number,
			       uint8_t build_id[GN_UNWIND_BUILD_ID_MAX])
{
	const struct gn_elf_image *image;

	if (number >= files->n || files->files[number]->status)
		return 0;
	image = &files->files[number]->image;
	memcpy(build_id, image->build_id, image->build_id_bytes);
	return image->build_id_bytes;
}

int gn_unwind_file_status(const struct gn_unwind_files *files, uint32_t number)
{
	return number < files->n ? files->files[number]->status : -EINVAL;
}

int gn_unwind_entry_bounds(struct gn_unwind_files *files, uint32_t number, uint64_t offset,
			   uint64_t *start, uint64_t *end)
{
	struct gn_frame_entry entry;
	struct gn_rule_file *file;
	int error;

	if (number >= files->n)
		return -EINVAL;
	file = files->files[number];
	if (file->status)
		return file->status;
	error = gn_entry_find(&file->index, offset, &entry);
	if (error)
		return error;
	*start = entry.start;
	*end = entry.end;
	return 0;
}

static bool is_root(const struct gn_rule_row *row)
{
	for (unsigned int i = 0; i < row->n_rules; i++)
		if (row->rules[i].target == row->return_column)
			return row->rules[i].kind == GN_RULE_UNDEFINED;
	return false;
}

/* The first instructions of the loader, and of some C libraries' programs, have no rules. */
static bool is_entry_code(const struct gn_rule_file *file, uint64_t address)
{
	struct gn_frame_entry entry;
	const uint64_t first = file->image.entry_point;

	return first && address - first < ENTRY_POINT_BYTES &&
	       gn_entry_find(&file->index, first, &entry) == -ENOENT;
}

/* A coroutine's first function returns to a function's first byte, which nobody called
 * (makecontext). A call at a function's very end looks alike, but for the call. */
static bool is_uncalled_start(const struct gn_rule_file *file, uint64_t address)
{
	uint8_t before[GN_CALL_BYTES_MAX];
	struct gn_frame_entry entry;

	return !gn_entry_find(&file->index, address, &entry) && entry.start == address &&
	       gn_elf_image_read_at(&file->image, address - sizeof(before), before,
				    sizeof(before)) == sizeof(before) &&
	       !gn_code_is_call(file->image.machine, before, sizeof(before));
}

uint32_t gn_rule_file_row(struct gn_rule_file *file, uint64_t address, bool is_return)
{
	/* Never 0, which marks a free slot. */
	const uint64_t key = (address << 2) | 2 | is_return;
	uint32_t number = gn_rule_cache_find(&file->cache, key);
	struct gn_frame_entry entry;
	struct gn_rule_row row;
	int error;

	if (number != GN_ROW_UNSEEN)
		return number;
	error = gn_entry_find(&file->index, address, &entry);
	if (is_return && (error || entry.end == address + 1) &&
	    is_uncalled_start(file, address + 1))
		return gn_rule_cache_put(&file->cache, key, GN_ROW_ROOT, NULL);
	if (error || gn_cfa_row(&entry, file->image.machine, address, &row)) {
		number = is_entry_code(file, address) ? GN_ROW_ROOT : GN_ROW_NONE;
		return gn_rule_cache_put(&file->cache, key, number, NULL);
	}
	if (is_root(&row))
		return gn_rule_cache_put(&file->cache, key, GN_ROW_ROOT, NULL);
	return gn_rule_cache_put(&file->cache, key, 0, &row);
}
