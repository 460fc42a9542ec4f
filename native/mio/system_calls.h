/*
 * The system's calls under no name of the C library's: a library that stands in the place of those
 * would meet itself. They return a negative errno, and leave errno alone.
 */
#ifndef GNOMON_MIO_SYSTEM_CALLS_H
#define GNOMON_MIO_SYSTEM_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8 && sizeof(long) == 8, "offsets go in one register");

static inline long gn_mio_result(long result, int errno_before)
{
	if (result < 0)
		result = -errno;
	errno = errno_before;
	return result;
}

#define GN_MIO_SYSTEM(...) gn_mio_result(syscall(__VA_ARGS__), errno_before)

static inline int gn_mio_system_open(const char *path, int flags, mode_t mode)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int gn_mio_system_close(int fd)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_close, fd);
}

static inline ssize_t gn_mio_system_read(int fd, void *to, size_t bytes)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_read, fd, to, bytes);
}

static inline ssize_t gn_mio_system_write(int fd, const void *from, size_t bytes)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_write, fd, from, bytes);
}

static inline ssize_t gn_mio_system_pread(int fd, void *to, size_t bytes, int64_t offset)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_pread64, fd, to, bytes, offset);
}

static inline ssize_t gn_mio_system_pwrite(int fd, const void *from, size_t bytes, int64_t offset)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_pwrite64, fd, from, bytes, offset);
}

static inline int64_t gn_mio_system_seek(int fd, int64_t offset, int whence)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_lseek, fd, offset, whence);
}

static inline int gn_mio_system_status(int fd, struct stat *status)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH);
}

static inline int gn_mio_system_truncate(int fd, int64_t bytes)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_ftruncate, fd, bytes);
}

static inline int gn_mio_system_sync(int fd, int data_only)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(data_only ? SYS_fdatasync : SYS_fsync, fd);
}

/* The kernel is told that these bytes will be read. */
static inline int gn_mio_system_will_need(int fd, int64_t offset, int64_t bytes)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_fadvise64, fd, offset, bytes, POSIX_FADV_WILLNEED);
}

static inline long gn_mio_system_link(const char *path, char *to, size_t bytes)
{
	const int errno_before = errno;

	return GN_MIO_SYSTEM(SYS_readlinkat, AT_FDCWD, path, to, bytes);
}

static inline int gn_mio_system_control(int fd, int command, void *argument)
{
	const int errno_before = errno;

	return (int)GN_MIO_SYSTEM(SYS_fcntl, fd, command, argument);
}

#endif
