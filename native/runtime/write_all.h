#ifndef GNOMON_RUNTIME_WRITE_ALL_H
#define GNOMON_RUNTIME_WRITE_ALL_H

#include <stddef.h>

/* Writes all bytes, in however many calls, and waits where a pipe has no room. 0, or the errno. */
int gn_write_all(int fd, const void *bytes, size_t size);

#endif
