/* Operations on descriptors. */
#define _GNU_SOURCE
#include "player.h"

#include <aio.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS 4

static int any_slot(struct player *player)
{
	return (int)below(player, SLOTS);
}

/* Mostly of one that is open. */
static int some_descriptor(struct player *player)
{
	int slot = any_slot(player);

	for (int i = 0; i < SLOTS && player->fd[slot] < 0; i++)
		slot = (slot + 1) % SLOTS;
	return below(player, 40) ? player->fd[slot] : -1;
}

/* Data of its file are in no page of the kernel's. */
static int is_direct(int fd)
{
	const long flags = syscall(SYS_fcntl, fd, F_GETFL);

	return flags >= 0 && flags & O_DIRECT;
}

static int shown(const struct player *player, int fd)
{
	return player->is_thread && fd > 0 ? 0 : fd;
}

/* Puts a descriptor into a slot, and closes what was there. */
static void keep(struct player *player, int fd)
{
	const int slot = any_slot(player);

	if (fd < 0)
		return;
	if (player->fd[slot] >= 0)
		RESULT(player, close(player->fd[slot]), "close %d",
		       shown(player, player->fd[slot]));
	player->fd[slot] = fd;
}

static int some_flags(struct player *player)
{
	static const int kinds[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_RDWR};
	static const int more[] = {O_EXCL,     O_TRUNC,	   O_TRUNC,  O_APPEND,
				   O_CLOEXEC,  O_NONBLOCK, O_DSYNC,  O_DIRECTORY,
				   O_NOFOLLOW, O_PATH,	   O_DIRECT, O_NOATIME};
	int flags = kinds[below(player, 5)];

	if (below(player, 3))
		flags |= O_CREAT;
	while (below(player, 2))
		flags |= more[below(player, sizeof(more) / sizeof(more[0]))];
	return flags;
}

void play_open(struct player *player)
{
	const char *path = below(player, 12) ? some_path(player) : "/dev/null";
	int flags = some_flags(player);
	int directory, fd;

	if (!below(player, 40)) {
		/* Reads of it are ended early by signals. */
		path = "/dev/full";
		flags = O_WRONLY;
	}
	/* Past the kernel's cache, and by it, the same file may have either's data. */
	if (flags & O_DIRECT) {
		path = path_below(player, "direct");
		keep(player,
		     DESCRIPTOR(player, open(path, flags, 0600), "open %s 0%o", path, flags));
		return;
	}
	switch (below(player, 8)) {
	case 0:
		fd = DESCRIPTOR(player, creat(path, 0640), "creat %s", path);
		break;
	case 1:
		path = path_below(player, below(player, 2) ? "sub" : ".");
		fd = DESCRIPTOR(player, open(path, O_TMPFILE | O_RDWR, 0600), "open %s O_TMPFILE",
				path);
		break;
	case 2:
		path = path_below(player, "sub");
		directory = open(path, O_RDONLY | O_DIRECTORY);
		fd = DESCRIPTOR(player, openat(directory, "b", flags, 0644), "openat %s/b 0%o",
				path, flags);
		if (directory >= 0)
			RESULT(player, close(directory), "close");
		break;
	default:
		fd = DESCRIPTOR(player, open(path, flags, 0604), "open %s 0%o", path, flags);
	}
	keep(player, fd);
}

void play_read(struct player *player)
{
	const int fd = some_descriptor(player);
	const size_t bytes = some_bytes(player);
	char *to = player->buffer + (below(player, 4) ? 0 : below(player, 16));
	int64_t n;

	if (below(player, 2)) {
		n = RESULT(player, read(fd, to, bytes), "read %d %zu", shown(player, fd), bytes);
	} else {
		const int64_t offset = some_offset(player);

		n = RESULT(player, pread(fd, to, bytes, offset), "pread %d %zu %lld",
			   shown(player, fd), bytes, (long long)offset);
	}
	note_data(player, to, n);
}

void play_write(struct player *player)
{
	const int fd = some_descriptor(player);
	const size_t bytes = some_bytes(player);
	const char *from = some_data(player, bytes);

	if (below(player, 2)) {
		RESULT(player, write(fd, from, bytes), "write %d %zu", shown(player, fd), bytes);
	} else {
		const int64_t offset = some_offset(player);

		RESULT(player, pwrite(fd, from, bytes, offset), "pwrite %d %zu %lld",
		       shown(player, fd), bytes, (long long)offset);
	}
}

static int some_parts(struct player *player, struct iovec part[PARTS])
{
	const int n = (int)below(player, PARTS + 1);
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		part[i].iov_base = player->buffer + at;
		part[i].iov_len = below(player, 3000);
		at += part[i].iov_len;
	}
	return n;
}

void play_vector(struct player *player)
{
	struct iovec part[PARTS];
	const int fd = some_descriptor(player), n = some_parts(player, part);
	const int64_t offset = some_offset(player);
	int64_t bytes = -1;

	memset(player->buffer, 0, PARTS * 3000);
	switch (below(player, 7)) {
	case 0:
		bytes = RESULT(player, readv(fd, part, n), "readv %d %d", shown(player, fd), n);
		break;
	case 1:
		bytes = RESULT(player, preadv(fd, part, n, offset), "preadv %d %d %lld",
			       shown(player, fd), n, (long long)offset);
		break;
	case 2:
		bytes = RESULT(player, preadv2(fd, part, n, below(player, 2) ? offset : -1, 0),
			       "preadv2 %d %d", shown(player, fd), n);
		break;
	case 3:
		some_data(player, PARTS * 3000);
		RESULT(player, writev(fd, part, n), "writev %d %d", shown(player, fd), n);
		break;
	case 4:
		some_data(player, PARTS * 3000);
		RESULT(player, pwritev(fd, part, n, offset), "pwritev %d %d %lld",
		       shown(player, fd), n, (long long)offset);
		break;
	case 5:
		some_data(player, PARTS * 3000);
		RESULT(player, pwritev2(fd, part, n, -1, 0), "pwritev2 %d %d", shown(player, fd),
		       n);
		break;
	default:
		some_data(player, PARTS * 3000);
		RESULT(player, pwritev2(fd, part, n, offset, below(player, 3) ? 0 : RWF_APPEND),
		       "pwritev2 %d %d %lld", shown(player, fd), n, (long long)offset);
	}
	note_data(player, player->buffer, bytes);
}

void play_seek(struct player *player)
{
	static const int whences[] = {SEEK_SET,	 SEEK_SET,  SEEK_CUR, SEEK_END,
				      SEEK_DATA, SEEK_HOLE, 99};
	const int fd = some_descriptor(player), whence = whences[below(player, 7)];
	const int64_t offset =
		whence == SEEK_END ? -(int64_t)below(player, 500) : some_offset(player);

	/* Where there are data is a matter of what the kernel holds in memory. */
	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		lseek(fd, offset, whence);
		RESULT(player, lseek(fd, 0, SEEK_SET), "lseek %d 0 0", shown(player, fd));
		return;
	}
	RESULT(player, lseek(fd, offset, whence), "lseek %d %lld %d", shown(player, fd),
	       (long long)offset, whence);
}

void play_duplicate(struct player *player)
{
	const int fd = some_descriptor(player), slot = any_slot(player);
	const int other = player->fd[slot], least = 3 + (int)below(player, 40);
	int result;

	switch (below(player, 5)) {
	case 0:
		keep(player, DESCRIPTOR(player, dup(fd), "dup %d", shown(player, fd)));
		break;
	case 1:
		keep(player, DESCRIPTOR(player, fcntl(fd, F_DUPFD, least), "F_DUPFD %d %d",
					shown(player, fd), least));
		break;
	case 2:
		keep(player, DESCRIPTOR(player, fcntl(fd, F_DUPFD_CLOEXEC, least),
					"F_DUPFD_CLOEXEC %d %d", shown(player, fd), least));
		break;
	case 3:
		/* Onto one that is open; the same one is an error of dup3 alone. */
		result = DESCRIPTOR(player, other < 0 ? -1 : dup2(fd, other), "dup2 %d %d",
				    shown(player, fd), shown(player, other));
		(void)result;
		break;
	default:
		result = DESCRIPTOR(player, other < 0 ? -1 : dup3(fd, other, O_CLOEXEC),
				    "dup3 %d %d", shown(player, fd), shown(player, other));
		(void)result;
	}
}

void play_close(struct player *player)
{
	const int slot = any_slot(player), fd = player->fd[slot];
	const int more = player->is_thread ? 0 : (int)below(player, 3);

	if (fd < 0 || below(player, 3)) {
		RESULT(player, close(fd), "close %d", shown(player, fd));
		player->fd[slot] = -1;
		return;
	}
	if (!below(player, 4)) {
		RESULT(player, close_range((unsigned int)fd, (unsigned int)fd, CLOSE_RANGE_CLOEXEC),
		       "close_range %d, on exec", shown(player, fd));
		return;
	}
	/* Streams may lose theirs, too: their numbers are then those of others. */
	RESULT(player, close_range((unsigned int)fd, (unsigned int)(fd + more), 0),
	       "close_range %d %d", shown(player, fd), more);
	for (int i = 0; i < SLOTS; i++)
		if (player->fd[i] >= fd && player->fd[i] <= fd + more)
			player->fd[i] = -1;
}

/* Other players have locks of devices, too. */
static int may_lock(int fd)
{
	struct stat status;

	return fstat(fd, &status) || S_ISREG(status.st_mode);
}

void play_control(struct player *player)
{
	const int fd = some_descriptor(player);
	struct flock lock = {.l_type = (short)(below(player, 2) ? F_RDLCK : F_WRLCK),
			     .l_start = below(player, 1000),
			     .l_len = 10};
	int flags;

	switch (below(player, 7)) {
	case 0:
		RESULT(player, fcntl(fd, F_GETFL), "F_GETFL %d", shown(player, fd));
		break;
	case 1:
		flags = fcntl(fd, F_GETFL);
		flags ^= below(player, 3) ? O_APPEND : O_NONBLOCK;
		RESULT(player, fcntl(fd, F_SETFL, flags), "F_SETFL %d 0%o", shown(player, fd),
		       flags);
		break;
	case 2:
		RESULT(player, fcntl(fd, F_GETFD), "F_GETFD %d", shown(player, fd));
		break;
	case 3:
		RESULT(player, fcntl(fd, F_SETFD, FD_CLOEXEC), "F_SETFD %d", shown(player, fd));
		break;
	case 4:
		if (!may_lock(fd))
			return;
		RESULT(player, fcntl(fd, F_SETLK, &lock), "F_SETLK %d %d", shown(player, fd),
		       lock.l_type);
		break;
	case 5:
		/* A child sees whether its parent still has it. */
		if (!may_lock(fd))
			return;
		RESULT(player, fcntl(fd, F_GETLK, &lock) < 0 ? -1 : lock.l_type, "F_GETLK %d",
		       shown(player, fd));
		break;
	default:
		if (!may_lock(fd))
			return;
		RESULT(player, flock(fd, LOCK_SH | LOCK_NB), "flock %d", shown(player, fd));
	}
}

/* A signal would end copies early. */
static void hold_ticks(sigset_t *before)
{
	sigset_t ticks;

	sigemptyset(&ticks);
	sigaddset(&ticks, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &ticks, before);
}

void play_resize(struct player *player)
{
	const int fd = some_descriptor(player);
	const int64_t bytes = some_offset(player);
	const char *path;
	sigset_t before;

	hold_ticks(&before);
	switch (below(player, 6)) {
	case 0:
		path = some_path(player);
		RESULT(player, truncate(path, bytes), "truncate %s %lld", path, (long long)bytes);
		break;
	case 1:
		RESULT(player, posix_fallocate(fd, bytes, 3000), "posix_fallocate %d %lld",
		       shown(player, fd), (long long)bytes);
		break;
	case 2:
		RESULT(player,
		       fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, bytes, 5000),
		       "fallocate %d %lld", shown(player, fd), (long long)bytes);
		break;
	default:
		RESULT(player, ftruncate(fd, bytes), "ftruncate %d %lld", shown(player, fd),
		       (long long)bytes);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void play_status(struct player *player)
{
	const int fd = some_descriptor(player);
	struct stat status = {0};
	struct statx more = {0};

	if (below(player, 4))
		RESULT(player,
		       fstat(fd, &status) ? -1 : (int64_t)(status.st_size * 1000 + status.st_nlink),
		       "fstat %d", shown(player, fd));
	else
		RESULT(player,
		       statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &more) ? -1
								       : (int64_t)more.stx_size,
		       "statx %d", shown(player, fd));
	note(player, status.st_mode, 0, "mode");
}

void play_sync(struct player *player)
{
	const int fd = some_descriptor(player);

	switch (below(player, 4)) {
	case 0:
		RESULT(player, fsync(fd), "fsync %d", shown(player, fd));
		break;
	case 1:
		RESULT(player, fdatasync(fd), "fdatasync %d", shown(player, fd));
		break;
	case 2:
		RESULT(player, sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE),
		       "sync_file_range %d", shown(player, fd));
		break;
	default:
		RESULT(player, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise %d",
		       shown(player, fd));
	}
}

void play_copy(struct player *player)
{
	const int to = some_descriptor(player), from = some_descriptor(player);
	const size_t bytes = some_bytes(player);
	off_t from_offset = below(player, 3000), to_offset = below(player, 50000);
	off_t *from_at = below(player, 2) ? &from_offset : NULL;
	off_t *to_at = below(player, 2) ? &to_offset : NULL;
	sigset_t before;

	if (is_direct(to) || is_direct(from))
		return;
	hold_ticks(&before);
	if (below(player, 2))
		RESULT(player, sendfile(to, from, from_at, bytes), "sendfile %d %d %zu",
		       shown(player, to), shown(player, from), bytes);
	else
		RESULT(player, copy_file_range(from, from_at, to, to_at, bytes, 0),
		       "copy_file_range %d %d %zu", shown(player, from), shown(player, to), bytes);
	note(player, from_offset, 0, "from");
	note(player, to_offset, 0, "to");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- memory ----------------------------------------------------------------------------------- */

static __thread sigjmp_buf beyond;

static void on_bus_error(int number)
{
	siglongjmp(beyond, number);
}

void begin_maps(void)
{
	const struct sigaction action = {.sa_handler = on_bus_error};

	sigaction(SIGBUS, &action, NULL);
}

/* Reads or writes some of a mapping, of which the file may have become shorter. */
static void touch(struct player *player, struct map *map)
{
	const size_t at = below(player, (uint32_t)map->bytes);
	const size_t most = map->bytes - at < 300 ? map->bytes - at : 300;
	const size_t n = 1 + below(player, (uint32_t)most);
	if (sigsetjmp(beyond, 1)) {
		note(player, -1, 0, "SIGBUS at %zu", at);
	} else if (map->can_write && below(player, 2)) {
		for (size_t i = 0; i < n; i++)
			map->start[at + i] = (char)(n + i);
		note(player, (int64_t)n, 0, "stored at %zu", at);
	} else {
		for (size_t i = 0; i < n; i++)
			player->buffer[i] = map->start[at + i];
		note(player, (int64_t)n, 0, "loaded at %zu", at);
		note_data(player, player->buffer, (int64_t)n);
	}
}

/*
 * A mapping for as long as its file does not become shorter: what is stored in the last page behind
 * the file's end stays there until the kernel gets to it.
 */
void play_map(struct player *player)
{
	const int fd = some_descriptor(player),
		  protection = PROT_READ | PROT_WRITE * (int)below(player, 2);
	const int shares = below(player, 3) ? MAP_SHARED : MAP_PRIVATE;
	const off_t offset = below(player, 3) ? 0 : 4096;
	struct map map = {.bytes = 1 + below(player, 20000), .can_write = protection & PROT_WRITE};
	struct stat status = {0};
	void *start;

	if (is_direct(fd))
		return;
	errno = 0;
	start = mmap(NULL, map.bytes, protection, shares, fd, offset);

	note(player, start == MAP_FAILED ? -1 : 0, start == MAP_FAILED ? errno : 0,
	     "mmap %zu %d %d %d %lld", map.bytes, protection, shares, shown(player, fd),
	     (long long)offset);
	if (start == MAP_FAILED)
		return;
	map.start = start;
	syscall(SYS_fstat, fd, &status);
	if (status.st_size > offset && status.st_size - offset < (off_t)map.bytes)
		map.bytes = (size_t)(status.st_size - offset);
	for (uint32_t n = 1 + below(player, 6); n; n--) {
		touch(player, &map);
		if (shares == MAP_SHARED && below(player, 2))
			play_write(player);
		if (shares == MAP_SHARED && below(player, 2))
			play_read(player);
	}
	if (below(player, 2))
		RESULT(player, msync(start, map.bytes, below(player, 2) ? MS_ASYNC : MS_SYNC),
		       "msync");
	RESULT(player, munmap(start, map.bytes), "munmap");
}

/* --- others ----------------------------------------------------------------------------------- */

void play_pipe(struct player *player)
{
	const size_t bytes = below(player, 5000);
	int end[2], n;

	if (RESULT(player, pipe2(end, O_NONBLOCK), "pipe2"))
		return;
	RESULT(player, write(end[1], some_data(player, bytes), bytes), "write to pipe %zu", bytes);
	n = (int)RESULT(player, read(end[0], player->buffer, 4000), "read of pipe");
	note_data(player, player->buffer, n);
	RESULT(player, lseek(end[0], 0, SEEK_CUR), "lseek of pipe");
	RESULT(player, close(end[1]), "close");
	/* Children that other threads make meanwhile have the other end, too. */
	if (!player->is_thread)
		RESULT(player, read(end[0], player->buffer, 4000), "read to the end");
	RESULT(player, close(end[0]), "close");
}

void play_bad_address(struct player *player)
{
	const int fd = some_descriptor(player);
	/* No compiler is to know what it is. */
	char *volatile none = NULL, *volatile last = (char *)-4096;
	struct iovec *volatile no_parts = NULL;
	volatile int bad_number = -1;

	if (!player->has_bad_addresses)
		return;
	switch (below(player, 10)) {
	case 0:
		RESULT(player, read(fd, none, 100), "read of NULL");
		break;
	case 1:
		RESULT(player, pwrite(fd, last, 100, 0), "pwrite of -4096");
		break;
	case 2:
		RESULT(player, open(none, O_RDONLY), "open NULL");
		break;
	case 3:
		RESULT(player, open(last, O_RDONLY), "open -4096");
		break;
	case 4:
		RESULT(player, access(last, R_OK), "access -4096");
		break;
	case 5:
		RESULT(player, readv(fd, no_parts, 2), "readv NULL");
		break;
	case 6:
		RESULT(player, writev(fd, no_parts, bad_number), "writev of -1");
		break;
	case 7:
		RESULT(player, unlink(last), "unlink -4096");
		break;
	case 8:
		RESULT(player, preadv(fd, (const struct iovec *)last, 1, 0), "preadv -4096");
		break;
	default:
		RESULT(player, sendfile(fd, fd, (off_t *)last, 10), "sendfile -4096");
	}
}

void play_asynchronous(struct player *player)
{
	struct aiocb block = {.aio_fildes = some_descriptor(player),
			      .aio_offset = below(player, 3000),
			      .aio_nbytes = below(player, 600),
			      .aio_buf = player->buffer};
	const struct aiocb *const list[] = {&block};
	const int writes = (int)below(player, 2);
	int error;

	/* The threads that do it for glibc are not there in a child, and waited for all the same.
	 */
	if (player->level)
		return;
	some_data(player, block.aio_nbytes);
	if (RESULT(player, writes ? aio_write(&block) : aio_read(&block), "aio %d %d", writes,
		   shown(player, block.aio_fildes)))
		return;
	while ((error = aio_error(&block)) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	note(player, aio_return(&block), 0, "aio_return, error %d", error);
	note_data(player, player->buffer, (int64_t)block.aio_nbytes);
}
