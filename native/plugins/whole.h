#ifndef GNOMON_PLUGINS_WHOLE_H
#define GNOMON_PLUGINS_WHOLE_H

#include <stddef.h>

/* Writes all bytes, in however many calls. 0, or an errno. */
int hpm_write_all(int fd, const void *bytes, size_t size);

#endif
