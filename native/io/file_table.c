#include "file_table.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io_process.h"
#include "memory_probe.h"
#include "own_calls.h"
#include "scratch_memory.h"
#include "staging.h"

/* Of more files than that the others are one. */
#define FILES_MOST (1u << 20)
#define OTHERS "(other files)"
#define TEXT_BYTES ((size_t)1 << 18)
#define BLOCK 1024u

struct file {
	const char *path;
	uint32_t generation; /* that its record was written in; 0: in none */
	int is_described;
	uint32_t how_opened;
	union gn_totals_record *record; /* of that generation; NULL: there is none yet */
	struct gn_io_status status;
};

struct entry {
	uint32_t hash, file;
};

static struct {
	pthread_mutex_t lock;
	struct gn_hash_table entries;
	struct file *block[FILES_MOST / BLOCK + 1];
	uint32_t n;
	char *text;
	size_t text_left;
} files = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Which process this is, of those that forked one another: what was recorded for an earlier one is
 * in another file. */
static uint32_t generation = 1;

static struct file *file_of(uint32_t number)
{
	return &files.block[number / BLOCK][number % BLOCK];
}

static uint32_t hash_of(const char *path)
{
	uint64_t hash = 14695981039346656037u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211u;
	return gn_hash_of(hash, 0);
}

static const char *keep_text(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *kept;

	if (bytes > files.text_left) {
		files.text = gn_take_memory(TEXT_BYTES);
		files.text_left = files.text ? TEXT_BYTES : 0;
	}
	if (bytes > files.text_left)
		return NULL;
	kept = memcpy(files.text, text, bytes);
	files.text += bytes;
	files.text_left -= bytes;
	return kept;
}

static uint32_t add_file(const char *path, uint32_t hash, struct entry *entry)
{
	struct file **block = &files.block[files.n / BLOCK];
	const char *kept;

	if (!*block)
		*block = gn_take_memory(BLOCK * sizeof(**block));
	kept = *block ? keep_text(path) : NULL;
	if (!kept)
		return GN_IO_NO_FILE;
	*file_of(files.n) = (struct file){.path = kept};
	*entry = (struct entry){hash, files.n};
	files.entries.n++;
	return files.n++;
}

static uint32_t find_or_add(const char *path)
{
	const uint32_t hash = hash_of(path);
	struct entry *entry;

	if (gn_hash_table_make_room(&files.entries, sizeof(*entry)))
		return GN_IO_NO_FILE;
	for (uint32_t i = hash;; i++) {
		entry = gn_hash_table_entry(&files.entries, sizeof(*entry), i);
		if (!entry->hash)
			break;
		if (entry->hash == hash && !strcmp(file_of(entry->file)->path, path))
			return entry->file;
	}
	if (files.n >= FILES_MOST && strcmp(path, OTHERS))
		return GN_IO_NO_FILE;
	return add_file(path, hash, entry);
}

static int is_ours(const char *path)
{
	const char *folder = gn_staging_folder("io");
	const size_t n = folder ? strlen(folder) : 0;

	return n && !strncmp(path, folder, n) && (path[n] == '/' || !path[n]);
}

uint32_t gn_io_file(const char *path)
{
	uint32_t file;

	if (is_ours(path))
		return GN_IO_OWN_FILE;
	pthread_mutex_lock(&files.lock);
	file = find_or_add(path);
	if (file == GN_IO_NO_FILE)
		file = find_or_add(OTHERS);
	pthread_mutex_unlock(&files.lock);
	return file;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Pipes and sockets have numbers, and there may be very many: of each kind all are one. */
static void shorten(char *path)
{
	char *number;

	if (path[0] == '/')
		return;
	number = strstr(path, ":[");
	if (number)
		*number = 0;
	if (!strncmp(path, "anon_inode:", strlen("anon_inode:")))
		memmove(path, path + strlen("anon_inode:"),
			strlen(path + strlen("anon_inode:")) + 1);
}

static int read_link_of(int fd, char *path, size_t size)
{
	char name[32];
	long n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, name, path, size - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : -1;
}

uint32_t gn_io_file_of_descriptor(int fd)
{
	char *path = gn_scratch_take();
	uint32_t file = GN_IO_NO_FILE;

	if (path && !read_link_of(fd, path, PATH_MAX + 16)) {
		shorten(path);
		file = gn_io_file(path);
	}
	gn_scratch_give(path);
	return file;
}

/* Of a path while it is looked up. */
struct texts {
	char path[2 * PATH_MAX]; /* with what comes before it */
	char folder[PATH_MAX];
	char name[NAME_MAX + 1];
};

_Static_assert(sizeof(struct texts) <= GN_SCRATCH_BYTES, "a path has room");

/* Without "." and empty names. */
static void clean(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (from[0] == '/' && (from[1] == '/' || (from[1] == '.' && from[2] == '/')))
			from += from[1] == '/' ? 1 : 2;
		else if (from[0] == '/' && from[1] == '.' && !from[2])
			break;
		else
			*to++ = *from++;
	}
	*to = 0;
	if (to == path)
		strcpy(path, "/");
	else if (to > path + 1 && to[-1] == '/')
		to[-1] = 0;
}

/* Behind a symbolic link ".." leads elsewhere than the text says: the kernel is asked. */
static void resolve_parents(struct texts *texts)
{
	char *path = texts->path, *folder = texts->folder, *name = texts->name;
	char *slash = strrchr(path, '/');
	int fd;

	name[0] = 0;
	if (!strstr(path, "/..") || !slash)
		return;
	if (strcmp(slash, "/..") && strlen(slash + 1) < sizeof(texts->name)) {
		strcpy(name, slash + 1);
		*slash = 0;
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path[0] ? path : "/",
			  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (name[0])
		*slash = '/';
	if (fd < 0)
		return;
	if (!read_link_of(fd, folder, sizeof(texts->folder)))
		snprintf(path, sizeof(texts->path), "%s%s%s", folder,
			 name[0] && folder[1] ? "/" : "", name);
	syscall(SYS_close, fd);
}

/* Programs also ask for what is at an address that they do not have. */
static int can_be_read(const char *path)
{
	const uintptr_t page_bytes = (uintptr_t)1 << GN_PROBE_PAGE_BITS;
	struct gn_probe probe = {0};

	for (uintptr_t at = (uintptr_t)path; at < (uintptr_t)path + PATH_MAX;) {
		const uintptr_t next = (at | (page_bytes - 1)) + 1;

		if (!gn_probe_page(&probe, at >> GN_PROBE_PAGE_BITS))
			return 0;
		if (memchr((const void *)at, 0, next - at))
			return 1;
		at = next;
	}
	return 0;
}

static uint32_t file_named(struct texts *texts, int directory, const char *path)
{
	char *text = texts->path;
	size_t n = 0;

	if (path[0] != '/') {
		if (directory == AT_FDCWD ? syscall(SYS_getcwd, text, PATH_MAX) <= 0
					  : read_link_of(directory, text, PATH_MAX))
			text[0] = 0;
		n = strlen(text);
	}
	snprintf(text + n, sizeof(texts->path) - n, "%s%s", n ? "/" : "", path);
	clean(text);
	resolve_parents(texts);
	return gn_io_file(text);
}

uint32_t gn_io_file_of_path(int directory, const char *path, int was_read)
{
	struct texts *texts;
	uint32_t file;

	if (!path || (!was_read && !can_be_read(path)))
		return GN_IO_NO_FILE;
	if (directory != AT_FDCWD && !path[0])
		return gn_io_file_of_descriptor(directory);
	texts = gn_scratch_take();
	file = texts ? file_named(texts, directory, path) : GN_IO_NO_FILE;
	gn_scratch_give(texts);
	return file;
}

/* --- records ---------------------------------------------------------------------------------- */

void gn_io_file_describe(uint32_t number, const struct gn_io_status *status)
{
	struct file *file;

	if (number >= GN_IO_OWN_FILE)
		return;
	file = file_of(number);
	file->status = *status;
	file->is_described = 1;
	file->generation = 0;
}

int gn_io_file_is_described(uint32_t number)
{
	return number >= GN_IO_OWN_FILE || file_of(number)->is_described;
}

static void add_how_opened(uint32_t number, uint32_t how)
{
	struct file *file;

	if (number >= GN_IO_OWN_FILE || !how)
		return;
	file = file_of(number);
	pthread_mutex_lock(&files.lock);
	file->how_opened |= how;
	if (file->record && file->generation == generation)
		atomic_fetch_or(&file->record->file.how_opened, how);
	pthread_mutex_unlock(&files.lock);
}

void gn_io_file_opened(uint32_t file, int flags)
{
	uint32_t how = 0;

	if (flags & O_APPEND)
		how |= GN_FILE_APPENDED;
	if (flags & O_DIRECT)
		how |= GN_FILE_DIRECT;
	if (flags & (O_SYNC | O_DSYNC))
		how |= GN_FILE_SYNCHRONOUS;
	add_how_opened(file, how);
}

void gn_io_file_inherited(uint32_t file)
{
	add_how_opened(file, GN_FILE_INHERITED);
}

void gn_io_file_record(struct gn_site_thread *thread, uint32_t number)
{
	struct gn_file_record record = {.file = number};
	union gn_totals_record *written;
	struct file *file;
	uint32_t before;

	if (number >= GN_IO_OWN_FILE)
		return;
	file = file_of(number);
	pthread_mutex_lock(&files.lock);
	before = file->generation;
	file->generation = generation;
	if (before != generation)
		file->record = NULL;
	pthread_mutex_unlock(&files.lock);
	if (before == generation)
		return;
	record.type = file->status.type;
	record.device = file->status.device;
	record.inode = file->status.inode;
	record.bytes = file->status.bytes;
	record.block_bytes = file->status.block_bytes;
	written = gn_totals_add(&thread->chunk, GN_TOTALS_FILE, &record, sizeof(record));
	gn_totals_add_text(&thread->chunk, GN_TOTALS_FILE, number, file->path);
	pthread_mutex_lock(&files.lock);
	file->record = written;
	if (written)
		atomic_fetch_or(&written->file.how_opened, file->how_opened);
	pthread_mutex_unlock(&files.lock);
}

void gn_io_files_forget(void)
{
	pthread_mutex_init(&files.lock, NULL);
	generation++;
}
