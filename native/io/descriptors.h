/*
 * What a process's descriptors are of. Descriptors that were duplicated have one open file, with
 * one position (open(2), "open file descriptions"); two that were opened have two, also of one
 * file. What changes where this library does not see it is looked up in the kernel when it is first
 * met: descriptors that were there before, or came in a message.
 */
#ifndef GNOMON_IO_DESCRIPTORS_H
#define GNOMON_IO_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdint.h>

#include "file_table.h"

#define GN_IO_NO_POSITION INT64_MIN

/* An open file. Threads change it without a lock, as they do the position itself. */
struct gn_io_open_file {
	_Atomic uint32_t users; /* descriptors; 0: it is free */
	uint32_t file;
	uint32_t block_bytes; /* 0: its requests have no place in it */
	uint32_t appends;     /* O_APPEND */
	uint32_t opening;     /* its number, which no other one of the process ever has */
	_Atomic int64_t position;
	_Atomic int64_t append_offset; /* where a write goes that appends, as far as is known */
	_Atomic int64_t end;	       /* of its last request */
	/* The same for stdio(3), which moves the other ones where nobody sees it. */
	_Atomic int64_t stream_position, stream_end;
	struct gn_io_open_file *next_free;
};

/* Of a descriptor, within work of ours or not; NULL: not known yet. */
struct gn_io_open_file *gn_io_descriptor_find(int fd);

/* The following are within work of ours (io_process.h). */

/* Of a descriptor that is open; NULL: it is not, or without memory. */
struct gn_io_open_file *gn_io_descriptor_get(int fd);

/* A descriptor that has just been opened. */
struct gn_io_open_file *gn_io_descriptor_open(int fd, int flags);

/* It is `of` from now on as well. */
void gn_io_descriptor_duplicate(int fd, int of);

/* From `first` to `last`, before they are closed: another thread may open them right then. */
void gn_io_descriptors_close(unsigned int first, unsigned int last);

/* In a child of a fork: a thread of its parent may have been at it. */
void gn_io_descriptors_forget(void);

#endif
