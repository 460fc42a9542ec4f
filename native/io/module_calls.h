/*
 * Modules of Modular I/O (native/mio) between the program's calls and the system's, for files that
 * MIO_FILES names. Whether calls are recorded makes no difference to them.
 *
 * Wrappers ask these only where gn_io_has_modules is set. A function that returns 0 has done
 * nothing: the next library is called. What moves in ways that no layer sees is settled before,
 * and resumed after: the kernel then knows what was written, and where the file is.
 */
#ifndef GNOMON_IO_MODULE_CALLS_H
#define GNOMON_IO_MODULE_CALLS_H

#include <aio.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/* MIO_FILES has a rule. */
extern int gn_io_has_modules;

int gn_io_module_open(int directory, const char *path, int flags, mode_t mode, int *result);
int gn_io_module_close(int fd, int *result);
int gn_io_module_read(int fd, void *to, size_t bytes, ssize_t *result);
int gn_io_module_write(int fd, const void *from, size_t bytes, ssize_t *result);
/* A negative offset: at the position. */
int gn_io_module_read_at(int fd, void *to, size_t bytes, int64_t offset, ssize_t *result);
int gn_io_module_write_at(int fd, const void *from, size_t bytes, int64_t offset, ssize_t *result);
int gn_io_module_read_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			     ssize_t *result);
int gn_io_module_write_vector(int fd, const struct iovec *vector, int n, int64_t offset,
			      ssize_t *result);
int gn_io_module_seek(int fd, int64_t offset, int whence, off_t *result);
int gn_io_module_truncate(int fd, int64_t bytes, int *result);
int gn_io_module_status(int fd, struct stat *status, int *result);
int gn_io_module_sync(int fd, int data_only, int *result);
int gn_io_module_control(int fd, int command, void *argument, int *result);

/* The second is called where the first one returned 1. */
int gn_io_settle(int fd);
void gn_io_resume(int fd);

/* A path that is looked at, or opened or changed in size: the system knows what was written. */
void gn_io_show(int directory, const char *path, int is_changed);
void gn_io_show_all(void);

/* The descriptor is the kernel's alone from now on. */
void gn_io_expose(int fd);
void gn_io_mapping(int fd); /* the same, of one that is mapped; -1: none */
/* That of a stream: another file may be open under its number. */
void gn_io_expose_stream(FILE *stream);
/* Around fflush(3); NULL: of all streams, any of which may be such a one. */
void gn_io_flushing_stream(FILE *stream);
void gn_io_flushed_stream(FILE *stream);
void gn_io_expose_list(struct aiocb *const list[], int n);
void gn_io_expose_range(unsigned int first, unsigned int last, int flags);

/* Before a descriptor becomes another one's duplicate, and when it has; -1: a new one. */
void gn_io_duplicating(int fd, int other);
void gn_io_module_duplicated(int fd, int duplicate);

/* Before another program is executed in a child, which may get any of the descriptors; in this
 * process; and when that ends at once. */
void gn_io_module_spawn(int gets_all);
void gn_io_module_execute(const char *path);
void gn_io_module_exit(void);

#endif
