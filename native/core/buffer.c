/*
 * Space is taken by adding to the tail, which lives in the file, so that a reader knows where to
 * stop whatever happened to the writer. Disk space is allocated ahead of the tail: writing to a
 * mapped page that has none would end the program by SIGBUS when the disk is full. Where a thread
 * gets ahead of the allocation all the same, it allocates for itself instead of waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "gnomon/buffer.h"
#include "gnomon/clock.h"

/* In Linux since 4.14 and 5.14; the C library's headers may be older than the kernel. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* How much is allocated at a time: about 0.1 ms of work for the thread that is at it. */
#define STEP_BYTES ((uint64_t)256 << 10)

/* Written pages stay mapped for so long, for late commits, then leave the program's RSS. */
#define RESIDENT_BYTES ((uint64_t)2 << 20)

/* How a thread waits for another one that writes zeros, two seconds in all. */
#define NAP_NS 50000
#define NAPS_MAX 40000

/* Descriptors below are the program's: some count on getting the lowest free number. */
#define DESCRIPTOR_MIN 900

_Static_assert(sizeof(struct gn_buffer_header) == GN_BUFFER_HEADER_BYTES, "header is one page");
_Static_assert(offsetof(struct gn_buffer_header, stop_error) == 88, "as documented");
_Static_assert(offsetof(struct gn_buffer_header, host) == 128, "as documented");
_Static_assert(offsetof(struct gn_buffer_header, tail) == 1024, "as documented");
_Static_assert(offsetof(struct gn_buffer_header, lost) == 1088, "as documented");
_Static_assert(sizeof(struct gn_record) == 8, "a record's header is written in one store");

/* Added to `allocated`, a multiple of the page size, when there is no more to be had. */
#define FINAL 1u

/* On a page that the kernel clears in a forked child. */
struct guard {
	_Atomic uint32_t owned;
	_Atomic uint32_t recording;
};

struct gn_buffer {
	struct gn_buffer_header *header; /* also where the mapping of the file begins */
	struct guard *guard;
	bool guard_is_wiped;
	pid_t owner;
	uint64_t capacity;
	_Atomic uint64_t allocated; /* the file has disk space up to here; FINAL: it stays so */
	_Atomic uint64_t ahead;	    /* who gets beyond this allocates more */
	_Atomic uint64_t refused;   /* everything from here on was refused */
	_Atomic bool growing;	    /* somebody allocates ahead */
	_Atomic bool writes_zeros;  /* the file system has no fallocate() */
	_Atomic int status;	    /* 0 or what ended recording */
	uint64_t released;	    /* pages up to here are unmapped; owned by who has `growing` */
	int fd;
	dev_t device;
	ino_t inode;
	size_t bytes; /* of this structure and the guard's page */
	char path[PATH_MAX];
};

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

static char *address(const struct gn_buffer *b, uint64_t offset)
{
	return (char *)b->header + offset;
}

static bool owned(const struct gn_buffer *b)
{
	if (!b->guard_is_wiped)
		return b->owner == getpid();
	return atomic_load_explicit(&b->guard->owned, memory_order_relaxed);
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

/* Neither a pipe that nobody reads nor one that is closed may be felt by the program. */
static void write_line(struct iovec *parts, int count)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	static const struct timespec at_once;
	sigset_t broken_pipe, pending;

	for (int i = 0; i < count; i++)
		parts[i].iov_len = strlen(parts[i].iov_base);
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	if (poll(&room, 1, 0) == 1 && room.revents == POLLOUT && !sigpending(&pending) &&
	    writev(STDERR_FILENO, parts, count) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &at_once);
}

static void report(struct gn_buffer *b, int error, uint64_t bytes)
{
	char length[24], number[24];
	struct iovec parts[] = {
		{.iov_base = "gnomon: "},
		{.iov_base = b->path},
		{.iov_base = ": recording ended after "},
		{.iov_base = decimal(length + sizeof(length) - 1, bytes)},
		{.iov_base = " bytes: "},
		{.iov_base = (char *)reason(error)},
		{.iov_base = " (errno "},
		{.iov_base = decimal(number + sizeof(number) - 1, (uint64_t)error)},
		{.iov_base = "); the program goes on\n"},
	};

	write_line(parts, sizeof(parts) / sizeof(*parts));
}

/* What begins at `offset`, and all that follows, is not recorded. */
static void end_recording(struct gn_buffer *b, int error, uint64_t offset)
{
	uint64_t refused = atomic_load(&b->refused);
	int none = 0;

	while (offset < refused && !atomic_compare_exchange_weak(&b->refused, &refused, offset))
		;
	__atomic_fetch_add(&b->header->lost, 1, __ATOMIC_RELAXED);
	if (!atomic_compare_exchange_strong(&b->status, &none, -error))
		return;
	atomic_store(&b->guard->recording, 0);
	__atomic_store_n(&b->header->stop_error, (uint32_t)error, __ATOMIC_RELAXED);
	__atomic_fetch_or(&b->header->flags, GN_BUFFER_STOPPED, __ATOMIC_RELEASE);
	report(b, error, offset);
}

/* Programs that become daemons close all descriptors, and open files of their own instead. */
static bool descriptor_is_ours(const struct gn_buffer *b, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_dev == b->device && status.st_ino == b->inode;
}

static int move_up(int fd)
{
	struct rlimit limit;
	int high;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur <= DESCRIPTOR_MIN)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int descriptor(struct gn_buffer *b)
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
	fd = move_up(fd);
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
static int allocate(struct gn_buffer *b, int fd, uint64_t from, uint64_t to, bool alone)
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
static int populate(const struct gn_buffer *b, uint64_t from, uint64_t to)
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
static void release(struct gn_buffer *b, uint64_t allocated)
{
	uint64_t to = allocated > RESIDENT_BYTES ? allocated - RESIDENT_BYTES : 0;

	if (to > b->released + 4 * STEP_BYTES) {
		madvise(address(b, b->released), to - b->released, MADV_DONTNEED);
		b->released = to;
	}
}

static uint64_t allocated_bytes(const struct gn_buffer *b)
{
	return atomic_load(&b->allocated) & ~(uint64_t)FINAL;
}

/* Makes room up to `end` at least, and beyond where that can be had. */
static int extend(struct gn_buffer *b, uint64_t end, bool alone)
{
	uint64_t from = allocated_bytes(b), page = page_bytes(), seen = from, to;
	struct rlimit limit;
	int fd, result;

	to = round_up((end > from ? end : from) + STEP_BYTES, page);
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
	fd = atomic_load(&b->status) ? -EBADF : descriptor(b);
	result = fd < 0 ? fd : allocate(b, fd, from, to, alone);
	if (!result)
		result = populate(b, from, to);
	if (result)
		return result;
	while (seen < to && !atomic_compare_exchange_weak(&b->allocated, &seen, to)) {
		if (seen & FINAL)
			return atomic_load(&b->status);
	}
	atomic_store(&b->ahead, to - from > STEP_BYTES / 2 ? to - STEP_BYTES / 2 : to);
	return 0;
}

/*
 * Where several threads are here, one allocates ahead. The others go on if their space is there,
 * else they do the same for themselves, as what is allocated already stays as it is; on a file
 * system without fallocate() they can only wait.
 */
static int make_room(struct gn_buffer *b, uint64_t end)
{
	static const struct timespec nap = {0, NAP_NS};
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
		nanosleep(&nap, NULL);
	}
}

static bool grow(struct gn_buffer *b, uint64_t offset, uint64_t end)
{
	int result;

	if (end > b->capacity) {
		end_recording(b, ENOBUFS, offset);
		return false;
	}
	result = make_room(b, end);
	if (!result)
		return true;
	if (end <= allocated_bytes(b)) {
		/* The next step can wait until there is no way round it. */
		atomic_store(&b->ahead, allocated_bytes(b));
		return true;
	}
	/*
	 * Whoever comes later must not find room after all: the records would have no known end.
	 * Who came before may have made room for this one too.
	 */
	if (end <= (atomic_fetch_or(&b->allocated, FINAL) & ~(uint64_t)FINAL))
		return true;
	end_recording(b, -result, offset);
	return false;
}

/* The program's errno, signal handlers and cancellation have nothing to do with what is inside. */
static bool grow_unnoticed(struct gn_buffer *b, uint64_t offset, uint64_t end)
{
	int saved_errno = errno, cancel_state;
	sigset_t all, mask;
	bool grown;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	grown = grow(b, offset, end);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return grown;
}

static bool recording(const struct gn_buffer *b)
{
	if (!b || !atomic_load_explicit(&b->guard->recording, memory_order_relaxed))
		return false;
	return b->guard_is_wiped || b->owner == getpid();
}

/* One store, so that a reader finds a whole header here or zeros. */
static void write_record(char *at, uint32_t size, uint16_t type, uint16_t state)
{
	struct gn_record record = {.size = size, .type = type, .state = state};
	uint64_t word;

	memcpy(&word, &record, sizeof(word));
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELEASE);
}

static char *take(struct gn_buffer *b, size_t payload_bytes)
{
	uint64_t bytes, offset, end;

	if (!recording(b)) {
		if (b && gn_buffer_status(b) != -ECHILD)
			__atomic_fetch_add(&b->header->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (payload_bytes > GN_RECORD_PAYLOAD_MAX)
		return NULL;
	bytes = (sizeof(struct gn_record) + payload_bytes + 7) & ~(uint64_t)7;
	offset = __atomic_fetch_add(&b->header->tail, bytes, __ATOMIC_RELAXED);
	end = offset + bytes;
	if (end > atomic_load_explicit(&b->ahead, memory_order_acquire) &&
	    !grow_unnoticed(b, offset, end))
		return NULL;
	return address(b, offset);
}

void *gn_buffer_reserve(struct gn_buffer *b, uint16_t type, size_t payload_bytes)
{
	char *at = take(b, payload_bytes);

	if (!at)
		return NULL;
	write_record(at, (uint32_t)(sizeof(struct gn_record) + payload_bytes), type,
		     GN_RECORD_RESERVED);
	return at + sizeof(struct gn_record);
}

void gn_buffer_commit(void *payload)
{
	struct gn_record *record = (struct gn_record *)payload - 1;

	__atomic_store_n(&record->state, GN_RECORD_COMMITTED, __ATOMIC_RELEASE);
}

int gn_buffer_append(struct gn_buffer *b, uint16_t type, const void *payload, size_t payload_bytes)
{
	void *copy = gn_buffer_reserve(b, type, payload_bytes);

	if (!copy)
		return -ENOSPC;
	if (payload_bytes)
		memcpy(copy, payload, payload_bytes);
	gn_buffer_commit(copy);
	return 0;
}

int gn_buffer_status(const struct gn_buffer *b)
{
	return owned(b) ? atomic_load(&b->status) : -ECHILD;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The tightest of several, as an interrupt may come in between. */
static void read_anchors(struct gn_buffer_header *header)
{
	uint64_t tightest = UINT64_MAX;

	for (int attempt = 0; attempt < 5; attempt++) {
		uint64_t ticks = gn_clock_ticks();
		uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t realtime = clock_ns(CLOCK_REALTIME);
		uint64_t after = clock_ns(CLOCK_MONOTONIC_RAW);

		if (after - before < tightest) {
			tightest = after - before;
			header->ticks = ticks;
			header->raw_ns = before + tightest / 2;
			header->realtime_ns = realtime;
		}
	}
}

static void write_header(const struct gn_buffer *b)
{
	struct gn_buffer_header *header = b->header;
	uint64_t magic;

	header->byte_order = GN_BUFFER_BYTE_ORDER;
	header->version = GN_BUFFER_VERSION;
	header->header_bytes = GN_BUFFER_HEADER_BYTES;
	header->capacity_bytes = b->capacity;
	read_anchors(header);
	header->ticks_hz = gn_clock_hz();
	header->clock_source = gn_clock_source();
	header->pid = (uint32_t)b->owner;
	gethostname(header->host, sizeof(header->host) - 1);
	header->tail = GN_BUFFER_HEADER_BYTES;
	memcpy(&magic, GN_BUFFER_MAGIC, sizeof(magic));
	__atomic_store_n((uint64_t *)header->magic, magic, __ATOMIC_RELEASE);
}

/* The buffer's own memory: its structure, and the guard on a page that children get cleared. */
static int make_buffer(struct gn_buffer **buffer)
{
	size_t guard_at = (size_t)round_up(sizeof(struct gn_buffer), page_bytes());
	size_t bytes = guard_at + (size_t)page_bytes();
	struct gn_buffer *b;

	b = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b == MAP_FAILED)
		return -errno;
	b->bytes = bytes;
	b->guard = (struct guard *)((char *)b + guard_at);
	b->guard_is_wiped = !madvise(b->guard, (size_t)page_bytes(), MADV_WIPEONFORK);
	b->guard->owned = 1;
	b->owner = getpid();
	b->refused = UINT64_MAX;
	b->released = page_bytes();
	b->fd = -1;
	*buffer = b;
	return 0;
}

static int make_file(struct gn_buffer *b, const char *path)
{
	struct stat status;
	int fd, error;

	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	b->fd = fd = move_up(fd);
	if (fstat(fd, &status) || !realpath(path, b->path)) {
		error = errno;
		unlink(path);
		return -error;
	}
	b->device = status.st_dev;
	b->inode = status.st_ino;
	return 0;
}

static int map_file(struct gn_buffer *b)
{
	void *header = mmap(NULL, b->capacity, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	int result;

	if (header == MAP_FAILED)
		return -errno;
	b->header = header;
	result = extend(b, GN_BUFFER_HEADER_BYTES, true);
	if (result)
		munmap(header, b->capacity);
	return result;
}

int gn_buffer_open(struct gn_buffer **buffer, const char *path, uint64_t capacity_bytes)
{
	struct gn_buffer *b = NULL;
	int result;

	capacity_bytes = capacity_bytes ? capacity_bytes : GN_BUFFER_CAPACITY_BYTES;
	if (capacity_bytes <= GN_BUFFER_HEADER_BYTES || capacity_bytes > GN_BUFFER_CAPACITY_MAX)
		return -EINVAL;
	result = gn_clock_init();
	if (result)
		return result;
	result = make_buffer(&b);
	if (result)
		return result;
	b->capacity = round_up(capacity_bytes, page_bytes());
	result = make_file(b, path);
	if (result)
		goto failed;
	result = map_file(b);
	if (result) {
		unlink(b->path);
		goto failed;
	}
	write_header(b);
	atomic_store(&b->guard->recording, 1);
	*buffer = b;
	return 0;

failed:
	if (b->fd >= 0)
		close(b->fd);
	munmap(b, b->bytes);
	return result;
}

static int close_descriptor(struct gn_buffer *b)
{
	int fd = b->fd;

	b->fd = -1;
	if (fd >= 0 && descriptor_is_ours(b, fd) && close(fd))
		return -errno;
	return 0;
}

/* Threads that are at it still may go on writing, only to memory that leads nowhere. */
static int detach(const struct gn_buffer *b)
{
	uint64_t page = page_bytes();

	if (b->capacity > page &&
	    mmap(address(b, page), b->capacity - page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

int gn_buffer_close(struct gn_buffer *b)
{
	uint64_t used;
	int fd, result;

	if (!owned(b)) {
		close_descriptor(b);
		return 0;
	}
	if (atomic_load(&b->status) == -EBADF)
		return 0;
	fd = descriptor(b);
	atomic_store(&b->guard->recording, 0);
	atomic_store(&b->status, -EBADF);

	/* No record can come to lie across the end once the allocation stays as it is. */
	used = atomic_fetch_or(&b->allocated, FINAL) & ~(uint64_t)FINAL;
	used = at_most(used, __atomic_load_n(&b->header->tail, __ATOMIC_RELAXED));
	used = at_most(used, atomic_load(&b->refused));

	/* Where the file cannot be cut, final_bytes alone tells where the records end. */
	result = fd < 0 ? fd : detach(b);
	if (!result && ftruncate(fd, (off_t)used))
		result = -errno;
	__atomic_store_n(&b->header->final_bytes, used, __ATOMIC_RELAXED);
	__atomic_fetch_or(&b->header->flags, GN_BUFFER_CLOSED, __ATOMIC_RELEASE);
	close_descriptor(b);
	return result;
}

void gn_buffer_free(struct gn_buffer *b)
{
	if (!b)
		return;
	gn_buffer_close(b);
	munmap(b->header, b->capacity);
	munmap(b, b->bytes);
}
