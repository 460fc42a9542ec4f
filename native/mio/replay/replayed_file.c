#include "replayed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* of all machines */
#endif

#define BLOCK_BYTES ((size_t)1 << 20)
/* What a scratch file leaves to others. */
#define SPARE_BYTES ((uint64_t)64 << 20)
/* What is copied, or fetched into memory, before a replay. */
#define PREPARED_BYTES_MAX ((uint64_t)8 << 30)

static char block[BLOCK_BYTES];

__attribute__((format(printf, 4, 5))) static int fail(char *message, size_t size, int number,
						      const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(message, size, format, list);
	va_end(list);
	return -number;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* No zeros: file systems may keep those, or the same block again, as nothing. */
static void fill_block(uint64_t seed)
{
	uint64_t *word = (uint64_t *)block;

	for (size_t i = 0; i < BLOCK_BYTES / sizeof(*word); i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		word[i] = seed;
	}
}

static int write_block(int fd, size_t bytes, uint64_t offset)
{
	size_t n = 0;

	while (n < bytes) {
		const ssize_t part = pwrite(fd, block + n, bytes - n, (off_t)(offset + n));

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return part ? -errno : -EIO;
		n += (size_t)part;
	}
	return 0;
}

/* What the user's file has, and something behind that. -1 as `from`: it is not there. */
static int fill(int fd, int from, uint64_t bytes)
{
	uint64_t offset = 0;
	int result = 0;

	while (!result && offset < bytes) {
		const size_t wanted = (size_t)smaller(bytes - offset, BLOCK_BYTES);
		ssize_t n = from >= 0 ? pread(from, block, wanted, (off_t)offset) : 0;

		if (n <= 0) {
			from = -1;
			fill_block(offset);
			n = (ssize_t)wanted;
		}
		result = write_block(fd, (size_t)n, offset);
		offset += (uint64_t)n;
	}
	return result;
}

/* Without a name also where the file system cannot make it so. */
static int open_nameless(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	if (snprintf(path, sizeof(path), "%s/.gnomon-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int check_room(int fd, uint64_t bytes, const char *folder, char *message, size_t size)
{
	struct statvfs system;
	uint64_t room;

	if (fstatvfs(fd, &system))
		return fail(message, size, errno, "%s: %s", folder, strerror(errno));
	room = (uint64_t)system.f_bavail * system.f_frsize;
	if (room < SPARE_BYTES || bytes > room - SPARE_BYTES)
		return fail(message, size, ENOSPC,
			    "%s: a scratch copy takes %llu MiB and there are %llu, of which 64 "
			    "stay free",
			    folder, (unsigned long long)(bytes >> 20),
			    (unsigned long long)(room >> 20));
	return 0;
}

static int make_scratch(struct gn_replayed_file *file, const struct gn_replay_header *header,
			int users, const char *folder, char *message, size_t size)
{
	const uint64_t begin = header->flags & GN_REPLAY_ON_SCRATCH
				       ? header->begin_bytes
				       : larger(header->begin_bytes, header->end);
	int result;

	file->fd = open_nameless(folder);
	if (file->fd < 0)
		return fail(message, size, errno, "%s: no scratch file can be made there: %s",
			    folder, strerror(errno));
	if (begin > PREPARED_BYTES_MAX)
		return fail(message, size, EFBIG,
			    "a scratch copy takes %llu MiB, and at most %llu are copied",
			    (unsigned long long)(begin >> 20),
			    (unsigned long long)(PREPARED_BYTES_MAX >> 20));
	result = check_room(file->fd, larger(begin, header->end), folder, message, size);
	if (result)
		return result;
	result = fill(file->fd, users, begin);
	if (!result && fsync(file->fd))
		result = -errno;
	if (result)
		return fail(message, size, -result, "%s: the scratch copy: %s", folder,
			    strerror(-result));
	file->is_scratch = 1;
	file->open_flags = O_RDWR;
	file->bytes = begin;
	return 0;
}

/* -1: there is none that may be read. */
static int open_users(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat status;
	int fd = open(path, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = open(path, flags);
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int is_same_file(int fd, int other)
{
	struct stat own, others;

	return fstat(fd, &own) || fstat(other, &others) ||
	       (own.st_dev == others.st_dev && own.st_ino == others.st_ino);
}

int gn_replayed_file_open(struct gn_replayed_file *file, const struct gn_replay_list *list,
			  const char *path, const char *folder, char *message, size_t size)
{
	const struct gn_replay_header *header = &list->header;
	const int users = open_users(path);
	struct stat status = {0};
	int result = 0;

	*file = (struct gn_replayed_file){.fd = -1};
	if (users >= 0)
		fstat(users, &status);
	if (users < 0 || header->flags & GN_REPLAY_ON_SCRATCH ||
	    (uint64_t)status.st_size < header->begin_bytes) {
		result = make_scratch(file, header, users, folder, message, size);
		if (!result && users >= 0 && is_same_file(file->fd, users))
			result = fail(message, size, EINVAL, "%s: the scratch copy is the file",
				      path);
		if (users >= 0)
			close(users);
	} else {
		file->fd = users;
		file->bytes = (uint64_t)status.st_size;
		file->open_flags = O_RDONLY | (fcntl(users, F_GETFL) & O_NOATIME);
	}
	if (result) {
		gn_replayed_file_close(file);
		return result;
	}
	file->used_bytes = smaller(file->bytes, header->end);
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	return 0;
}

void gn_replayed_file_close(struct gn_replayed_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

void gn_replayed_file_cool(const struct gn_replayed_file *file)
{
	/* Pages that are not written yet stay. */
	sync_file_range(file->fd, 0, 0,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

void gn_replayed_file_warm(const struct gn_replayed_file *file)
{
	const uint64_t end = smaller(file->used_bytes, PREPARED_BYTES_MAX);
	uint64_t offset = 0;

	while (offset < end) {
		const ssize_t n = pread(file->fd, block, BLOCK_BYTES, (off_t)offset);

		if (n <= 0)
			break;
		offset += (uint64_t)n;
	}
}

int64_t gn_replayed_file_cached(const struct gn_replayed_file *file)
{
	struct {
		uint64_t offset, bytes;
	} range = {0, file->used_bytes};
	struct {
		uint64_t cached, dirty, writeback, evicted, recently_evicted;
	} count;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!file->used_bytes)
		return 0;
	if (syscall(SYS_cachestat, file->fd, &range, &count, 0))
		return -1;
	return (int64_t)smaller(count.cached * page, file->used_bytes);
}
