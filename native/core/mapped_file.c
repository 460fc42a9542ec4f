/*
 * `allocated` is a multiple of the page size, and has FINAL added when there is no more to be had:
 * from then on it stays. Where a thread gets ahead of the allocation, it allocates for itself
 * instead of waiting, but on a file system without fallocate().
 */
#include "mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "own_calls.h"
#include "signal_shield.h"
#include "stderr_line.h"

/* In Linux since 5.14; the C library's headers may be older than the kernel. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* How much is allocated at a time: about 0.1 ms of work for the thread that is at it. Of a small
 * file it is less: many processes have little to say. */
#define STEP_BYTES ((uint64_t)256 << 10)
#define FIRST_STEP_BYTES ((uint64_t)16 << 10)

/* Written pages stay mapped for so long, for late writes, then leave the program's RSS. */
#define RESIDENT_BYTES ((uint64_t)2 << 20)

/* How a thread waits for another one that writes zeros, two seconds in all. */
#define NAP_NS 50000
#define NAPS_MAX 40000

/* Of a limit on address space (RLIMIT_AS). */
#define LIMIT_SHARE 16
#define CAPACITY_LEAST ((uint64_t)1 << 20)

#define FINAL 1u

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

static char *address(const struct gn_mapped_file *b, uint64_t offset)
{
	return b->start + offset;
}

static const char *reason(int error)
{
	switch (error) {
	case ENOSPC:
		return "the disk is full";
	case EDQUOT:
		return "the disk quota is used up";
	case EFBIG:
		return "the limit on file sizes is reached (see ulimit -f)";
	case ENOBUFS:
		return "the capacity that was asked for is used up";
	}
	return "the file cannot grow";
}

/* The last digits of a text that has room for all of them. */
static char *decimal(char *end, uint64_t number)
{
	*end = '\0';
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

void gn_mapped_file_report(const struct gn_mapped_file *b, int error, uint64_t bytes)
{
	char length[24], number[24];
	struct iovec parts[] = {
		{.iov_base = "gnomon: "},
		{.iov_base = (char *)b->path},
		{.iov_base = ": recording ended after "},
		{.iov_base = decimal(length + sizeof(length) - 1, bytes)},
		{.iov_base = " bytes: "},
		{.iov_base = (char *)reason(error)},
		{.iov_base = " (errno "},
		{.iov_base = decimal(number + sizeof(number) - 1, (uint64_t)error)},
		{.iov_base = "); the program goes on\n"},
	};

	gn_stderr_line(parts, sizeof(parts) / sizeof(*parts));
}

/* Programs that become daemons close all descriptors, and open files of their own instead. */
static bool descriptor_is_ours(const struct gn_mapped_file *b, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_dev == b->device && status.st_ino == b->inode;
}

static int descriptor(struct gn_mapped_file *b)
{
	int fd = __atomic_load_n(&b->fd, __ATOMIC_RELAXED);

	if (descriptor_is_ours(b, fd))
		return fd;
	fd = open(b->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!descriptor_is_ours(b, fd)) {
		close(fd);
		return -ESTALE;
	}
	fd = gn_descriptor_raise(fd);
	gn_descriptor_mark_used(fd);
	__atomic_store_n(&b->fd, fd, __ATOMIC_RELAXED);
	return fd;
}

static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[16384];

	while (from < to) {
		size_t bytes = (size_t)at_most(to - from, sizeof(zeros));
		ssize_t written = pwrite(fd, zeros, bytes, (off_t)from);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -ENOSPC;
		from += (uint64_t)written;
	}
	return 0;
}

/* -EAGAIN: no more than one thread may write zeros, lest they overwrite another's first records. */
static int allocate(struct gn_mapped_file *b, int fd, uint64_t from, uint64_t to, bool alone)
{
	int result;

	if (!atomic_load(&b->writes_zeros)) {
		do
			result = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
		while (result && errno == EINTR);
		if (!result)
			return 0;
		if (errno != EOPNOTSUPP && errno != ENOSYS)
			return -errno;
		atomic_store(&b->writes_zeros, true);
	}
	return alone ? write_zeros(fd, from, to) : -EAGAIN;
}

/* Faults pages in now: in one go it is cheaper, and not counted as the program's page faults. */
static int populate(const struct gn_mapped_file *b, uint64_t from, uint64_t to)
{
	if (!madvise(address(b, from), to - from, MADV_POPULATE_WRITE))
		return 0;
	switch (errno) {
	case EFAULT:
		/* A write here would have been a SIGBUS. */
		return -ENOSPC;
	case ENOMEM:
	case EHWPOISON:
		return -errno;
	}
	return 0;
}

/* Unmaps what was written long ago; it stays in the file, and comes back if it is touched. */
static void release(struct gn_mapped_file *b, uint64_t allocated)
{
	uint64_t to = allocated > RESIDENT_BYTES ? allocated - RESIDENT_BYTES : 0;

	if (to > b->released + 4 * STEP_BYTES) {
		madvise(address(b, b->released), to - b->released, MADV_DONTNEED);
		b->released = to;
	}
}

static uint64_t allocated_bytes(const struct gn_mapped_file *b)
{
	return atomic_load(&b->allocated) & ~(uint64_t)FINAL;
}

static uint64_t step_bytes(uint64_t from)
{
	return at_most(from < FIRST_STEP_BYTES ? FIRST_STEP_BYTES : from, STEP_BYTES);
}

/* Makes room up to `end` at least, and beyond where that can be had. */
static int extend(struct gn_mapped_file *b, uint64_t end, bool alone)
{
	uint64_t from = allocated_bytes(b), page = page_bytes(), seen = from, to;
	const uint64_t step = step_bytes(from);
	struct rlimit limit;
	int fd, result;

	to = round_up((end > from ? end : from) + step, page);
	to = at_most(to, b->capacity);
	/* Exceeding the limit is not only refused but a signal, SIGXFSZ. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < to)
		to = limit.rlim_cur / page * page;
	if (to < end)
		return -EFBIG;
	if (to <= from) {
		atomic_store(&b->ahead, from);
		return 0;
	}
	fd = atomic_load(&b->is_given_up) ? -EBADF : descriptor(b);
	result = fd < 0 ? fd : allocate(b, fd, from, to, alone);
	if (!result)
		result = populate(b, from, to);
	if (result)
		return result;
	while (seen < to && !atomic_compare_exchange_weak(&b->allocated, &seen, to)) {
		if (seen & FINAL)
			return -EBADF;
	}
	atomic_store(&b->ahead, to - from > step / 2 ? to - step / 2 : to);
	return 0;
}

/*
 * Where several threads are here, one allocates ahead. The others go on if their space is there,
 * else they do the same for themselves, as what is allocated already stays as it is; on a file
 * system without fallocate() they can only wait.
 */
static int make_room(struct gn_mapped_file *b, uint64_t end)
{
	int naps = 0, result;

	for (;;) {
		bool alone = !atomic_exchange(&b->growing, true);

		result = 0;
		if (alone || end > allocated_bytes(b))
			result = extend(b, end, alone);
		if (alone) {
			release(b, allocated_bytes(b));
			atomic_store(&b->growing, false);
		}
		if (result != -EAGAIN)
			return result;
		if (++naps > NAPS_MAX)
			return -ETIMEDOUT;
		gn_pause(NAP_NS);
	}
}

static int grow(struct gn_mapped_file *b, uint64_t end)
{
	int result;

	if (end > b->capacity)
		return -ENOBUFS;
	result = make_room(b, end);
	if (!result)
		return 0;
	if (end <= allocated_bytes(b)) {
		/* The next step can wait until there is no way round it. */
		atomic_store(&b->ahead, allocated_bytes(b));
		return 0;
	}
	/*
	 * Whoever comes later must not find room after all: what is there would have no known end.
	 * Who came before may have made room for this one too.
	 */
	return end <= gn_mapped_file_give_up(b) ? 0 : result;
}

int gn_mapped_file_grow(struct gn_mapped_file *b, uint64_t end)
{
	struct gn_signal_shield shield;
	int result;

	gn_signal_shield_begin(&shield);
	atomic_fetch_add(&b->growers, 1);
	result = grow(b, end);
	atomic_fetch_sub(&b->growers, 1);
	gn_signal_shield_end(&shield);
	return result;
}

/* Where a file may have this many bytes: to go beyond is not only refused but a signal. */
static int check_limit(uint64_t end)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < end ? -EFBIG : 0;
}

static int provide(struct gn_mapped_file *b, uint64_t from, uint64_t to)
{
	const int fd = atomic_load(&b->is_given_up) ? -EBADF : descriptor(b);
	int result = fd < 0 ? fd : check_limit(to);

	if (!result)
		result = allocate(b, fd, from, to, true);
	return result ? result : populate(b, from, to);
}

int gn_mapped_file_provide(struct gn_mapped_file *b, uint64_t from, uint64_t to)
{
	struct gn_signal_shield shield;
	int result;

	gn_signal_shield_begin(&shield);
	atomic_fetch_add(&b->growers, 1);
	result = provide(b, from, to);
	atomic_fetch_sub(&b->growers, 1);
	gn_signal_shield_end(&shield);
	return result;
}

static int write_parts(struct gn_mapped_file *b, const struct iovec *parts, int n, uint64_t offset)
{
	const int fd = atomic_load(&b->is_given_up) ? -EBADF : descriptor(b);
	uint64_t bytes = 0;
	ssize_t written;
	int result = fd < 0 ? fd : 0;

	for (int i = 0; i < n; i++)
		bytes += parts[i].iov_len;
	if (!result)
		result = check_limit(offset + bytes);
	if (result)
		return result;
	do
		written = syscall(SYS_pwritev, fd, parts, n, (long)offset, 0L);
	while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	/* The disk is full but for the rest of a block. */
	return (uint64_t)written == bytes ? 0 : -ENOSPC;
}

int gn_mapped_file_write(struct gn_mapped_file *b, const struct iovec *parts, int n,
			 uint64_t offset)
{
	struct gn_signal_shield shield;
	int result;

	gn_signal_shield_begin(&shield);
	atomic_fetch_add(&b->growers, 1);
	result = write_parts(b, parts, n, offset);
	atomic_fetch_sub(&b->growers, 1);
	gn_signal_shield_end(&shield);
	return result;
}

uint64_t gn_mapped_file_give_up(struct gn_mapped_file *b)
{
	return atomic_fetch_or(&b->allocated, FINAL) & ~(uint64_t)FINAL;
}

/* --- making and closing ----------------------------------------------------------------------- */

static int make_file(struct gn_mapped_file *b, const char *path)
{
	struct stat status;
	int error;

	b->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (b->fd < 0)
		return -errno;
	b->fd = gn_descriptor_raise(b->fd);
	gn_descriptor_mark_used(b->fd);
	if (fstat(b->fd, &status) || !realpath(path, b->path)) {
		error = errno;
		unlink(path);
		close(b->fd);
		return -error;
	}
	b->device = status.st_dev;
	b->inode = status.st_ino;
	return 0;
}

static int map_file(struct gn_mapped_file *b, uint64_t first)
{
	void *start = mmap(NULL, b->capacity, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	int result;

	if (start == MAP_FAILED)
		return -errno;
	b->start = start;
	result = extend(b, first, true);
	if (result)
		munmap(start, b->capacity);
	return result;
}

uint64_t gn_mapped_file_capacity(uint64_t wanted)
{
	struct rlimit limit;
	uint64_t share;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	share = limit.rlim_cur / LIMIT_SHARE;
	if (share < CAPACITY_LEAST)
		share = CAPACITY_LEAST;
	return share < wanted ? share : wanted;
}

int gn_mapped_file_create(struct gn_mapped_file *b, const char *path, uint64_t capacity,
			  uint64_t first)
{
	int result;

	memset(b, 0, sizeof(*b));
	b->capacity = round_up(capacity, page_bytes());
	b->released = round_up(first, page_bytes());
	result = make_file(b, path);
	if (result)
		return result;
	result = map_file(b, first);
	if (result) {
		unlink(b->path);
		close(b->fd);
	}
	return result;
}

int gn_mapped_file_close(struct gn_mapped_file *b)
{
	const int fd = b->fd;

	b->fd = -1;
	if (fd >= 0 && descriptor_is_ours(b, fd) && close(fd))
		return -errno;
	return 0;
}

/* What they allocate behind the end would stay there, and their descriptor may be another's soon.
 */
static void wait_for_growers(struct gn_mapped_file *b)
{
	for (int naps = 0; naps < NAPS_MAX && atomic_load(&b->growers); naps++)
		gn_pause(NAP_NS);
}

int gn_mapped_file_finish(struct gn_mapped_file *b, uint64_t kept, uint64_t bytes)
{
	struct stat status;
	int fd, result;

	atomic_store(&b->is_given_up, true);
	wait_for_growers(b);
	fd = descriptor(b);
	result = fd < 0 ? fd : 0;
	kept = round_up(kept, page_bytes());
	if (!result && b->capacity > kept &&
	    mmap(address(b, kept), b->capacity - kept, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		result = -errno;
	/* What there was no room for may count for the end; a shorter file is within the limit. */
	if (!result && (fstat(fd, &status) || (uint64_t)status.st_size < bytes))
		result = check_limit(bytes);
	if (!result && ftruncate(fd, (off_t)bytes))
		result = -errno;
	gn_mapped_file_close(b);
	return result;
}
