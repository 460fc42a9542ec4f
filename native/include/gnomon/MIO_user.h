/*
 * Modular I/O: what programs call, in place of the system's functions, on files that MIO_FILES has
 * modules for. Names, arguments and sizes are those of IBM's MIO_user.h; functions set errno and
 * return -1 as POSIX's do. docs/io/mio-reference.md tells of each.
 *
 * With USE_MIO_DEFINES the program's own calls of open, read, write, ... are calls of MIO: include
 * this behind all other headers.
 */
#ifndef _MIO_USER_H
#define _MIO_USER_H

#if !defined(_LARGE_FILES)
#define _LARGE_FILES
#endif

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* AIX has these types. */
#if !defined(MIO_HAS_INT64)
typedef int64_t int64;
#endif

/* Where the program has 64-bit names (_GNU_SOURCE, _LARGEFILE64_SOURCE), these are meant; without
 * them the same structures have plain names. */
#if defined(__USE_LARGEFILE64)
#define MIO_STRUCT_STAT struct stat64
#else
#define MIO_STRUCT_STAT struct stat
#endif
#if !defined(MIO_STRUCT_AIOCB)
#if defined(__USE_LARGEFILE64)
#define MIO_STRUCT_AIOCB struct aiocb64
#else
#define MIO_STRUCT_AIOCB struct aiocb
#endif
#define MIO_STRUCT_LIOCB struct liocb64
struct liocb64 {
	MIO_STRUCT_AIOCB lio_aiocb;
	int lio_fildes;
	int lio_opcode; /* LIO_READ, LIO_WRITE, LIO_NOP */
};
#endif

/* What MIO_ffinfo tells: the alignment and sizes of direct I/O. */
#define FI_DIOCAP 1
struct diocapbuf {
	uint64_t dio_offset; /* offsets are multiples of this */
	uint64_t dio_max;    /* bytes of a request at most */
	uint64_t dio_min;    /* and at least */
	uint64_t dio_align;  /* addresses in memory are multiples of this */
};

#define MIO_EXTRA_SKIP_MIO_FILES_FLAG 0x2
#define MIO_EXTRA_SKIP_MIO_DEFAULTS_FLAG 0x4
#define MIO_EXTRA_OPEN_FOR_UNLINK 0x8	  /* no modules: the file is opened to be removed */
#define MIO_EXTRA_FLAG_SCRATCH 0x80000000 /* what is in it need not outlive the system */

#define MIO_EXTRA_COOKIE_OLD 0x7a78746b
#define MIO_EXTRA_COOKIE 0x7a78746c

struct mio_extra_old {
	int cookie; /* MIO_EXTRA_COOKIE_OLD */
	int taskid;
	int64 bufsiz;
	char *modules;
	char *logical_name;
};

struct mio_extra {
	int cookie; /* MIO_EXTRA_COOKIE */
	int taskid;
	int64 bufsiz;	    /* for modules that ask for it; 0: none */
	char *modules;	    /* for a file that MIO_FILES has nothing for */
	char *logical_name; /* that MIO_FILES is asked by */
	int flags;
	int extra_errno; /* after a call: 0, or the errno */
	int reserved[8];
};

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

extern int MIO_open64(const char *path, int flags, int mode, struct mio_extra *extra);
extern int MIO_fstat64(int fd, MIO_STRUCT_STAT *status);
extern int64 MIO_lseek64(int fd, int64 offset, int whence);
extern int MIO_ftruncate64(int fd, int64 bytes);
extern int MIO_read(int fd, void *to, int bytes);
extern int MIO_write(int fd, const void *from, int bytes);
extern int MIO_close(int fd);
extern int MIO_fcntl(int fd, int command, int *argument);
extern int MIO_ffinfo(int fd, int command, struct diocapbuf *buffer, int bytes);
extern int MIO_fsync(int fd);

/* As MIO_read and MIO_write, of as many bytes as there can be. */
extern ssize_t MIO_read_wide(int fd, void *to, size_t bytes);
extern ssize_t MIO_write_wide(int fd, const void *from, size_t bytes);

/* An integer as in MIO_FILES, such as "64k"; -1 with errno EINVAL or ERANGE. */
extern int64 MIO_str_to_long(const char *text);

/* Up to `n` of them, between commas, colons or blanks: how many there are. */
extern int MIO_str_to_long_vector(const char *text, int64 *numbers, int n);

/* Asynchronous requests, which the system serves: modules do not see them. */
extern int MIO_aio_read64(int fd, MIO_STRUCT_AIOCB *request);
extern int MIO_aio_write64(int fd, MIO_STRUCT_AIOCB *request);
extern int MIO_aio_suspend64(int n, MIO_STRUCT_AIOCB **requests);
extern int MIO_aio_nwait64(int n, int n_least, MIO_STRUCT_AIOCB **requests);
extern int MIO_aio_cancel64(int fd, MIO_STRUCT_AIOCB *request);
extern int MIO_lio_listio64(int mode, MIO_STRUCT_LIOCB **requests, int n, void *event);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#if defined(USE_MIO_DEFINES)
/* open() and fcntl() have two or three arguments; the rest are for the shorter form. */
#define MIO_OPEN_ARGUMENTS(path, flags, mode, ...) MIO_open64(path, flags, mode, 0)
#define MIO_FCNTL_ARGUMENTS(fd, command, argument, ...)                                            \
	MIO_fcntl(fd, command, (int *)(intptr_t)(argument))
#define open64(...) MIO_OPEN_ARGUMENTS(__VA_ARGS__, 0, 0)
#define open(...) MIO_OPEN_ARGUMENTS(__VA_ARGS__, 0, 0)
#define close(a) MIO_close(a)
#define read(a, b, c) MIO_read_wide(a, b, c)
#define write(a, b, c) MIO_write_wide(a, b, c)
#define lseek64(a, b, c) MIO_lseek64(a, b, c)
#define lseek(a, b, c) MIO_lseek64(a, b, c)
#define ftruncate64(a, b) MIO_ftruncate64(a, b)
#define ftruncate(a, b) MIO_ftruncate64(a, b)
#define fsync(a) MIO_fsync(a)
#define fstat64(a, b) MIO_fstat64(a, (MIO_STRUCT_STAT *)(b))
#define fstat(a, b) MIO_fstat64(a, (MIO_STRUCT_STAT *)(b))
#define ffinfo(a, b, c, d) MIO_ffinfo(a, b, c, d)
#define fcntl(...) MIO_FCNTL_ARGUMENTS(__VA_ARGS__, 0, 0)
#define aio_read64(a, b) MIO_aio_read64(a, b)
#define aio_write64(a, b) MIO_aio_write64(a, b)
#define aio_suspend64(a, b) MIO_aio_suspend64(a, b)
#define aio_nwait(a, b, c) MIO_aio_nwait64(a, b, c)
#define aio_cancel64(a, b) MIO_aio_cancel64(a, b)
#define lio_listio64(a, b, c, d) MIO_lio_listio64(a, b, c, d)
#endif

#endif
