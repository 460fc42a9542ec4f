/*
 * The C library's calls on files, as a program has them that preloads this library: each calls the
 * next library's, and then says what it was about. What the program sees is what that one returned,
 * with its errno.
 */
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>

#include "io_call.h"
#include "module_calls.h"
#include "module_exposure.h"
#include "module_opens.h"
#include "module_process.h"
#include "next_symbol.h"

/* Looked up at the first call: most programs use few of them. */
#define GN_IO_FIND(next, name, ...)                                                                \
	do {                                                                                       \
		if (__builtin_expect(!__atomic_load_n(&(next), __ATOMIC_RELAXED), 0)) {            \
			__atomic_store_n(&(next), (__typeof__(next))gn_next_symbol(name),          \
					 __ATOMIC_RELAXED);                                        \
			if (!(next)) {                                                             \
				errno = ENOSYS;                                                    \
				return __VA_ARGS__;                                                \
			}                                                                          \
		}                                                                                  \
	} while (0)

#include "io_calls.h"
