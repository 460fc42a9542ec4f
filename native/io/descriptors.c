#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_calls.h"

/* Descriptors in a block, and blocks: a descriptor beyond is looked up at each call. */
#define BLOCK 1024u
#define BLOCKS 1024u
/* Open files are taken so many at a time. */
#define OPEN_FILES 64u
/* What a child of vfork(2) changed, at most. */
#define CHANGES 64u

typedef struct gn_io_open_file *_Atomic slot;

static struct {
	pthread_mutex_t lock;
	slot *_Atomic block[BLOCKS];
	struct gn_io_open_file *free;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * The child of vfork(2) has the parent's memory, and descriptors of its own: what it changes is
 * kept here until it executes a program, or ends.
 */
static struct {
	_Atomic pid_t pid; /* 0: there is none */
	uint32_t n;
	struct {
		unsigned int first, last;
		struct gn_io_open_file *is;
	} change[CHANGES];
} child;

static pid_t table_pid;
static _Atomic uint32_t n_openings;

static slot *slot_of(unsigned int fd, int is_wanted)
{
	slot *block;

	if (fd >= BLOCK * BLOCKS)
		return NULL;
	block = atomic_load_explicit(&table.block[fd / BLOCK], memory_order_acquire);
	if (!block && is_wanted) {
		slot *none = NULL;

		block = gn_take_memory(BLOCK * sizeof(*block));
		if (block &&
		    !atomic_compare_exchange_strong(&table.block[fd / BLOCK], &none, block)) {
			gn_give_memory(block, BLOCK * sizeof(*block));
			block = none;
		}
	}
	return block ? &block[fd % BLOCK] : NULL;
}

static pid_t here(void)
{
	return (pid_t)syscall(SYS_getpid);
}

/* Whether this is a child of vfork(2). The parent waits for it, and comes back when it is over. */
static int is_child(void)
{
	const pid_t pid = here();

	if (pid == table_pid || !table_pid) {
		table_pid = pid;
		atomic_store(&child.pid, 0);
		return 0;
	}
	if (child.pid != pid) {
		child.n = 0;
		atomic_store(&child.pid, pid);
	}
	return 1;
}

/* --- open files ------------------------------------------------------------------------------- */

static struct gn_io_open_file *take_open_file(void)
{
	struct gn_io_open_file *taken;

	pthread_mutex_lock(&table.lock);
	if (!table.free) {
		struct gn_io_open_file *more = gn_take_memory(OPEN_FILES * sizeof(*more));

		for (uint32_t i = 0; more && i < OPEN_FILES; i++) {
			more[i].next_free = table.free;
			table.free = &more[i];
		}
	}
	taken = table.free;
	if (taken)
		table.free = taken->next_free;
	pthread_mutex_unlock(&table.lock);
	return taken;
}

static void leave(struct gn_io_open_file *open_file)
{
	if (!open_file || atomic_fetch_sub(&open_file->users, 1) != 1)
		return;
	pthread_mutex_lock(&table.lock);
	open_file->next_free = table.free;
	table.free = open_file;
	pthread_mutex_unlock(&table.lock);
}

static uint16_t type_of(int fd, mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return GN_FILE_REGULAR;
	case S_IFDIR:
		return GN_FILE_DIRECTORY;
	case S_IFIFO:
		return GN_FILE_PIPE;
	case S_IFSOCK:
		return GN_FILE_SOCKET;
	case S_IFCHR:
		return isatty(fd) ? GN_FILE_TERMINAL : GN_FILE_DEVICE;
	case S_IFBLK:
		return GN_FILE_DEVICE;
	}
	return GN_FILE_OTHER;
}

static struct gn_io_status status_of(int fd)
{
	struct gn_io_status own = {0};
	struct stat status;

	if (fstat(fd, &status))
		return own;
	own.device = status.st_dev;
	own.inode = status.st_ino;
	own.bytes = (uint64_t)status.st_size;
	own.block_bytes = (uint64_t)status.st_blksize;
	own.type = type_of(fd, status.st_mode);
	return own;
}

static struct gn_io_open_file *make_open_file(int fd, int flags, int64_t position)
{
	const uint32_t file = gn_io_file_of_descriptor(fd);
	struct gn_io_open_file *own;
	struct gn_io_status status;

	if (file == GN_IO_NO_FILE)
		return NULL;
	own = take_open_file();
	if (!own)
		return NULL;
	status = status_of(fd);
	if (!gn_io_file_is_described(file))
		gn_io_file_describe(file, &status);
	own->file = file;
	own->appends = (flags & O_APPEND) != 0;
	gn_io_file_opened(file, flags);
	own->opening = atomic_fetch_add(&n_openings, 1);
	own->block_bytes = 0;
	if (status.type == GN_FILE_REGULAR || status.type == GN_FILE_DEVICE)
		own->block_bytes =
			status.block_bytes < UINT32_MAX ? (uint32_t)status.block_bytes : 0;
	atomic_store(&own->position, position);
	if (own->appends && position != GN_IO_NO_POSITION)
		position = (int64_t)status.bytes;
	atomic_store(&own->append_offset, position);
	atomic_store(&own->end, position);
	atomic_store(&own->stream_position, position);
	atomic_store(&own->stream_end, position);
	atomic_store(&own->users, 1);
	return own;
}

/* --- the table -------------------------------------------------------------------------------- */

static void put(int fd, struct gn_io_open_file *open_file)
{
	slot *own;

	if (is_child()) {
		if (child.n < CHANGES) {
			child.change[child.n].first = child.change[child.n].last = (unsigned int)fd;
			child.change[child.n++].is = open_file;
		}
		return;
	}
	own = slot_of((unsigned int)fd, 1);
	leave(own ? atomic_exchange(own, open_file) : open_file);
}

/* In a child of vfork(2): what it changed; or else the parent's. */
static int changed_by_child(int fd, struct gn_io_open_file **is)
{
	if (child.pid != here())
		return 0;
	for (uint32_t i = child.n; i-- > 0;)
		if ((unsigned int)fd >= child.change[i].first &&
		    (unsigned int)fd <= child.change[i].last) {
			*is = child.change[i].is;
			return 1;
		}
	return 0;
}

struct gn_io_open_file *gn_io_descriptor_find(int fd)
{
	struct gn_io_open_file *changed;
	slot *own;

	if (__builtin_expect(atomic_load_explicit(&child.pid, memory_order_relaxed) != 0, 0) &&
	    changed_by_child(fd, &changed))
		return changed;
	own = slot_of((unsigned int)fd, 0);
	return own ? atomic_load_explicit(own, memory_order_acquire) : NULL;
}

struct gn_io_open_file *gn_io_descriptor_get(int fd)
{
	struct gn_io_open_file *own = gn_io_descriptor_find(fd);
	int64_t position;
	int flags;

	if (own || fd < 0)
		return own;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return NULL;
	position = lseek(fd, 0, SEEK_CUR);
	own = make_open_file(fd, flags, position < 0 ? GN_IO_NO_POSITION : position);
	if (own) {
		gn_io_file_inherited(own->file);
		put(fd, own);
	}
	return own;
}

struct gn_io_open_file *gn_io_descriptor_open(int fd, int flags)
{
	struct gn_io_open_file *own = make_open_file(fd, flags, 0);

	put(fd, own);
	return own;
}

void gn_io_descriptor_duplicate(int fd, int of)
{
	struct gn_io_open_file *own = gn_io_descriptor_get(of);

	if (fd == of)
		return;
	if (own)
		atomic_fetch_add(&own->users, 1);
	put(fd, own);
}

void gn_io_descriptors_close(unsigned int first, unsigned int last)
{
	if (is_child()) {
		if (child.n < CHANGES) {
			child.change[child.n].first = first;
			child.change[child.n].last = last;
			child.change[child.n++].is = NULL;
		}
		return;
	}
	for (uint32_t i = first / BLOCK; i < BLOCKS && i <= last / BLOCK; i++) {
		slot *block = table.block[i];

		for (uint32_t fd = i * BLOCK; block && fd < (i + 1) * BLOCK; fd++)
			if (fd >= first && fd <= last)
				leave(atomic_exchange(&block[fd % BLOCK], NULL));
	}
}

void gn_io_descriptors_forget(void)
{
	pthread_mutex_init(&table.lock, NULL);
	atomic_store(&child.pid, 0);
	table_pid = here();
}
