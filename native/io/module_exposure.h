/*
 * Files with modules where others see them. What moves in ways that no layer sees is settled
 * before, and resumed after: the kernel then knows what was written, and where the file is.
 */
#ifndef GNOMON_IO_MODULE_EXPOSURE_H
#define GNOMON_IO_MODULE_EXPOSURE_H

#include <aio.h>
#include <stdio.h>

/* The second is called where the first one returned 1. */
int gn_io_settle(int fd);
void gn_io_resume(int fd);

/* A path that is looked at, or opened or changed in size: the system knows what was written. */
void gn_io_show(int directory, const char *path, int is_changed);
void gn_io_show_all(void);

/* The descriptor is the kernel's alone from now on. */
void gn_io_expose(int fd);
void gn_io_expose_list(struct aiocb *const list[], int n);
void gn_io_expose_range(unsigned int first, unsigned int last, int flags);

/* That of a stream: another file may be open under its number. */
void gn_io_expose_stream(FILE *stream);

/* Around fflush(3); NULL: of all streams, any of which may be such a one. */
void gn_io_flushing_stream(FILE *stream);
void gn_io_flushed_stream(FILE *stream);

/* Before a descriptor becomes another one's duplicate, and when it has; -1: a new one. */
void gn_io_duplicating(int fd, int other);
void gn_io_module_duplicated(int fd, int duplicate);

#endif
