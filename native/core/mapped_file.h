/*
 * A file that grows while it is written through a mapping, by many threads at once. Disk space is
 * allocated ahead: writing to a mapped page that has none would end the program by SIGBUS when the
 * disk is full.
 */
#ifndef GNOMON_CORE_MAPPED_FILE_H
#define GNOMON_CORE_MAPPED_FILE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct gn_mapped_file {
	char *start; /* of the mapping, which has `capacity` bytes */
	uint64_t capacity;
	_Atomic uint64_t allocated; /* the file has disk space up to here; see mapped_file.c */
	_Atomic uint64_t ahead;	    /* who gets beyond this allocates more */
	_Atomic bool growing;	    /* somebody allocates ahead */
	/* Space is made by writing zeros: the file system has no fallocate(), or who made the file
	 * has few threads, and wants pages that are cheap to dirty. */
	_Atomic bool writes_zeros;
	_Atomic bool is_given_up; /* it grows no more */
	_Atomic int growers;	  /* threads that make room */
	uint64_t released;	  /* pages up to here are unmapped; owned by who has `growing` */
	int fd;
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
};

/* As much as is wanted, but of a limit on address space no more than a small part, which the
 * program can do without. */
uint64_t gn_mapped_file_capacity(uint64_t wanted);

/*
 * Makes the file, which must not exist, with space for `first` bytes, and locks it as long as the
 * process lives. 0, or a negative errno without leaving a file.
 */
int gn_mapped_file_create(struct gn_mapped_file *file, const char *path, uint64_t capacity,
			  uint64_t first);

/*
 * Makes room up to `end`, where gn_mapped_file_has_room() says that there may be none: 0, or a
 * negative errno; then nobody finds room there later. The program's errno, signal handlers and
 * cancellation have nothing to do with what is inside.
 */
int gn_mapped_file_grow(struct gn_mapped_file *file, uint64_t end);

/*
 * Disk space for a part that nobody else has, whatever is before it, so that it can be written
 * through the mapping; and bytes written to one, not through it. Both are as gn_mapped_file_grow(),
 * and a file has either these or that.
 */
int gn_mapped_file_provide(struct gn_mapped_file *file, uint64_t from, uint64_t to);
int gn_mapped_file_write(struct gn_mapped_file *file, const struct iovec *parts, int n,
			 uint64_t offset);

static inline bool gn_mapped_file_has_room(const struct gn_mapped_file *file, uint64_t end)
{
	return end <= atomic_load_explicit(&file->ahead, memory_order_acquire);
}

/* Grows no more; returns up to where there is room. */
uint64_t gn_mapped_file_give_up(struct gn_mapped_file *file);

/*
 * Cuts the file to `bytes` and closes its descriptor; its first `kept` bytes stay mapped. Threads
 * that are at it still may go on writing, to memory that leads nowhere. 0 or a negative errno.
 */
int gn_mapped_file_finish(struct gn_mapped_file *file, uint64_t kept, uint64_t bytes);

/* Closes the descriptor alone. */
int gn_mapped_file_close(struct gn_mapped_file *file);

/* Says on stderr, in one line (stderr_line.h), that recording ended. */
void gn_mapped_file_report(const struct gn_mapped_file *file, int error, uint64_t bytes);

#endif
