/* The files that a process's calls are about, each once by its path. */
#ifndef GNOMON_IO_FILE_TABLE_H
#define GNOMON_IO_FILE_TABLE_H

#include <stdint.h>

#include "places.h"

#define GN_IO_NO_FILE UINT32_MAX
/* Ours: nothing is recorded of it. */
#define GN_IO_OWN_FILE (UINT32_MAX - 1)

/* What fstat(2) says of a file. */
struct gn_io_status {
	uint64_t device, inode, bytes, block_bytes;
	uint16_t type; /* enum gn_file_type */
};

/*
 * All of them within work of ours (io_process.h).
 */

/* The number of a file by the path that the kernel or the program has for it. */
uint32_t gn_io_file(const char *path);

/* That of an open descriptor, as the kernel names it. */
uint32_t gn_io_file_of_descriptor(int fd);

/* That of a path of a call, seen from a directory (AT_FDCWD: the current one). Of a call that
 * succeeded the kernel has read the path; of others there may be none at its address. */
uint32_t gn_io_file_of_path(int directory, const char *path, int was_read);

/* Once for a file: what it is. Its record is written after that. */
void gn_io_file_describe(uint32_t file, const struct gn_io_status *status);
int gn_io_file_is_described(uint32_t file);

/* A descriptor of it has these flags of open(2), or came from another process. */
void gn_io_file_opened(uint32_t file, int flags);
void gn_io_file_inherited(uint32_t file);

/* Its record is in this process's file from now on. */
void gn_io_file_record(struct gn_site_thread *thread, uint32_t file);

/* In a child of a fork: a thread of its parent may have been at it. */
void gn_io_files_forget(void);

#endif
