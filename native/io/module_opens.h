/* Which files get modules of Modular I/O when they are opened, and their end; 0: nothing was done.
 */
#ifndef GNOMON_IO_MODULE_OPENS_H
#define GNOMON_IO_MODULE_OPENS_H

#include <sys/types.h>

int gn_io_module_open(int directory, const char *path, int flags, mode_t mode, int *result);
int gn_io_module_close(int fd, int *result);

/* A descriptor that is mapped is the kernel's alone, and so is its file when it is opened again;
 * -1: none. */
void gn_io_mapping(int fd);

#endif
