/*
 * Modules of Modular I/O (native/mio) in the place of the system's calls, for files that have some.
 * Whether calls are recorded makes no difference to them. A function that returns 0 has done
 * nothing: the next library is called.
 */
#ifndef GNOMON_IO_MODULE_CALLS_H
#define GNOMON_IO_MODULE_CALLS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct gn_mio_file;

/* Whether memory can be read, up to 64 pages of it. */
int gn_io_is_readable(const void *memory, size_t bytes);

int gn_io_module_read(int fd, void *to, size_t bytes, ssize_t *result);
int gn_io_module_write(int fd, const void *from, size_t bytes, ssize_t *result);
int gn_io_module_read_at(int fd, void *to, size_t bytes, int64_t offset, ssize_t *result);
int gn_io_module_write_at(int fd, const void *from, size_t bytes, int64_t offset, ssize_t *result);
/* A negative offset: at the position. */
int gn_io_module_read_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			     ssize_t *result);
int gn_io_module_write_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			      ssize_t *result);
int gn_io_module_seek(int fd, int64_t offset, int whence, off_t *result);
int gn_io_module_truncate(int fd, int64_t bytes, int *result);
int gn_io_module_status(int fd, struct stat *status, int *result);
int gn_io_module_sync(int fd, int data_only, int *result);
int gn_io_module_control(int fd, int command, void *argument, int *result);

/* After a call of a file that was locked: what a signal's handler called meanwhile is done. */
void gn_io_module_unlock(struct gn_mio_file *file, int fd);

#endif
