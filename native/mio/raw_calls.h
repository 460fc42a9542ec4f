/*
 * The system's calls without the C library's names: in a program whose calls are intercepted those
 * of a cache must not come back to it. They return a negative errno and leave errno alone.
 */
#ifndef GNOMON_MIO_RAW_CALLS_H
#define GNOMON_MIO_RAW_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long gn_raw_result(long result, int errno_before)
{
	if (result < 0)
		result = -errno;
	errno = errno_before;
	return result;
}

static inline int gn_raw_open(const char *path, int flags)
{
	const int before = errno;

	return (int)gn_raw_result(syscall(SYS_openat, AT_FDCWD, path, flags, 0), before);
}

static inline int gn_raw_close(int fd)
{
	const int before = errno;

	return (int)gn_raw_result(syscall(SYS_close, fd), before);
}

static inline ssize_t gn_raw_pread(int fd, void *to, size_t bytes, int64_t offset)
{
	const int before = errno;

	return gn_raw_result(syscall(SYS_pread64, fd, to, bytes, offset), before);
}

/* The kernel's struct stat is the C library's on 64-bit machines. */
static inline int gn_raw_fstat(int fd, struct stat *status)
{
	const int before = errno;

	return (int)gn_raw_result(syscall(SYS_fstat, fd, status), before);
}

static inline int gn_raw_fcntl(int fd, int command, long argument)
{
	const int before = errno;

	return (int)gn_raw_result(syscall(SYS_fcntl, fd, command, argument), before);
}

static inline int gn_raw_will_need(int fd, int64_t offset, int64_t bytes)
{
	const int before = errno;

	return (int)gn_raw_result(syscall(SYS_fadvise64, fd, offset, bytes, POSIX_FADV_WILLNEED),
				  before);
}

#endif
