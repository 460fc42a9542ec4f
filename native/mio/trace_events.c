#include "trace_events.h"

#include <errno.h>
#include <fcntl.h>
#include <gnomon/clock.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_name.h"
#include "mapped_file.h"
#include "mio_heap.h"
#include "scratch_memory.h"
#include "signal_shield.h"
#include "stderr_line.h"
#include "system_calls.h"

/* 64 million operations; the option `sample` makes do with fewer. */
#define CAPACITY_BYTES ((uint64_t)1 << 32)
#define RECORDS_BEGIN 4096u
#define RECORD_BYTES 64u
#define BYTE_ORDER_MARK 0x01020304u

_Static_assert(sizeof(struct gn_mio_event) == RECORD_BYTES, "records have one size");
_Static_assert(sizeof(struct gn_mio_event_text) == RECORD_BYTES, "records have one size");
_Static_assert(sizeof(struct gn_mio_events_header) == 1360, "as the reader has it");

struct gn_mio_events {
	struct gn_mio_events *next;
	_Atomic(struct gn_mio_events_header *) header; /* NULL: there is no file yet, or none */
	_Atomic uint64_t *tail;
	atomic_uint n_files;
	bool is_given_up;
	struct gn_mapped_file file;
	char name[];
};

static struct gn_mio_events *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Of this process: files have no number of an earlier one. */
static uint32_t generation = 1;
static _Thread_local uint32_t thread_number;

/* --- the file --------------------------------------------------------------------------------- */

static void report_failure(const char *path, int error)
{
	char number[32];
	struct iovec texts[] = {
		{.iov_base = "gnomon: cannot record MIO's events in "},
		{.iov_base = (char *)path},
		{.iov_base = number},
	};

	snprintf(number, sizeof(number), ": errno %d\n", error);
	gn_stderr_line(texts, sizeof(texts) / sizeof(*texts));
}

/* Whether a process that lives has the file open to write events; see mapped_file.h. */
static bool is_in_use(const char *path)
{
	struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const int fd = gn_mio_system_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0);
	bool is_locked;

	if (fd < 0)
		return true;
	is_locked = !gn_mio_system_control(fd, F_GETLK, &owner) && owner.l_type != F_UNLCK;
	gn_mio_system_close(fd);
	return is_locked;
}

static void fill_header(struct gn_mio_events_header *header)
{
	char host[GN_HOST_NAME_SIZE];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	gn_host_name(host);
	header->byte_order = BYTE_ORDER_MARK;
	header->version = GN_MIO_EVENTS_VERSION;
	header->header_bytes = sizeof(*header);
	header->records = header->tail = RECORDS_BEGIN;
	header->realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	header->begin_ns = gn_clock_ns();
	header->pid = (uint32_t)getpid();
	memcpy(header->host, host, sizeof(header->host));
	if (readlink("/proc/self/exe", header->program, sizeof(header->program) - 1) < 0)
		header->program[0] = 0;
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, GN_MIO_EVENTS_MAGIC, sizeof(header->magic));
}

struct paths {
	char path[PATH_MAX], incomplete[PATH_MAX];
};

_Static_assert(sizeof(struct paths) <= GN_SCRATCH_BYTES, "both paths have room");

/* Where the file is to be: a link leads to it. 0, or a negative errno. */
static int find_place(const char *name, char path[PATH_MAX])
{
	struct stat status;

	if (stat(name, &status))
		return strlen(name) < PATH_MAX ? (strcpy(path, name), 0) : -ENAMETOOLONG;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (!realpath(name, path))
		return -errno;
	return is_in_use(path) ? -EEXIST : 0;
}

/*
 * The file gets its name when its header is complete, in the place of what an earlier run left:
 * whenever the process is killed, there is a file that can be read, or none of this name.
 */
static int create_beside(struct gn_mio_events *events, const char *name, struct paths *paths)
{
	const uint64_t capacity = gn_mapped_file_capacity(CAPACITY_BYTES);
	char *incomplete = paths->incomplete;
	int result = find_place(name, paths->path);

	if (result)
		return result;
	if ((size_t)snprintf(incomplete, sizeof(paths->incomplete), "%s.%d.part", paths->path,
			     getpid()) >= sizeof(paths->incomplete))
		return -ENAMETOOLONG;
	unlink(incomplete);
	result = gn_mapped_file_create(&events->file, incomplete, capacity, 2 * RECORDS_BEGIN);
	if (result)
		return result;
	/* Zeros that were written are mapped in large pages: dirtying others takes five times as
	 * long, 70 ns a record. */
	atomic_store(&events->file.writes_zeros, true);
	/* A millisecond, once: each operation then reads a counter instead of the kernel's clock.
	 */
	gn_clock_init();
	fill_header((struct gn_mio_events_header *)events->file.start);
	if (rename(incomplete, paths->path) || !realpath(paths->path, events->file.path)) {
		result = -errno;
		unlink(incomplete);
		munmap(events->file.start, events->file.capacity);
		gn_mapped_file_close(&events->file);
	}
	return result;
}

static int create(struct gn_mio_events *events, const char *name)
{
	struct paths *paths = gn_scratch_take();
	const int result = paths ? create_beside(events, name, paths) : -ENOMEM;

	gn_scratch_give(paths);
	return result;
}

static int create_of_process(struct gn_mio_events *events)
{
	char *path = gn_scratch_take();
	int result = -ENOMEM;

	if (path)
		result = snprintf(path, PATH_MAX, "%s.%d", events->name, getpid()) < PATH_MAX
				 ? create(events, path)
				 : -ENAMETOOLONG;
	gn_scratch_give(path);
	return result;
}

/* With the lock held. */
static void open_file(struct gn_mio_events *events)
{
	int result = -EEXIST;

	if (generation == 1)
		result = create(events, events->name);
	if (result == -EEXIST)
		result = create_of_process(events);
	if (result) {
		report_failure(events->name, -result);
		events->is_given_up = true;
		return;
	}
	events->tail = (_Atomic uint64_t *)(events->file.start +
					    offsetof(struct gn_mio_events_header, tail));
	atomic_store(&events->header, (struct gn_mio_events_header *)events->file.start);
}

struct gn_mio_events *gn_mio_events_of(const char *name)
{
	struct gn_mio_events *events;

	pthread_mutex_lock(&lock);
	for (events = all; events && strcmp(events->name, name);)
		events = events->next;
	if (!events) {
		events = gn_mio_heap_take(sizeof(*events) + strlen(name) + 1);
		if (events) {
			strcpy(events->name, name);
			events->next = all;
			all = events;
		}
	}
	pthread_mutex_unlock(&lock);
	return events;
}

/* --- records ---------------------------------------------------------------------------------- */

static struct gn_mio_events_header *header_of(struct gn_mio_events *events)
{
	struct gn_mio_events_header *header = atomic_load(&events->header);
	struct gn_signal_shield shield;

	if (header)
		return header;
	gn_signal_shield_begin(&shield);
	pthread_mutex_lock(&lock);
	if (!atomic_load(&events->header) && !events->is_given_up)
		open_file(events);
	pthread_mutex_unlock(&lock);
	gn_signal_shield_end(&shield);
	return atomic_load(&events->header);
}

/* NULL: the file cannot grow. */
static void *take(struct gn_mio_events *events, struct gn_mio_events_header *header,
		  uint32_t n_records)
{
	const uint64_t begin = atomic_fetch_add(events->tail, n_records * RECORD_BYTES);
	const uint64_t end = begin + n_records * RECORD_BYTES;

	if (gn_mapped_file_has_room(&events->file, end) || !gn_mapped_file_grow(&events->file, end))
		return events->file.start + begin;
	__atomic_fetch_add(&header->lost, n_records, __ATOMIC_RELAXED);
	return NULL;
}

static void add_text(struct gn_mio_events *events, struct gn_mio_events_header *header,
		     uint16_t kind, uint32_t number, const char *text)
{
	const size_t length = strlen(text);
	const uint32_t n = (uint32_t)((length + GN_MIO_EVENT_TEXT - 1) / GN_MIO_EVENT_TEXT);
	struct gn_mio_event_text *record = n ? take(events, header, n) : NULL;

	for (uint32_t part = 0; record && part < n; part++, record++) {
		const size_t from = (size_t)part * GN_MIO_EVENT_TEXT;
		const size_t bytes =
			length - from < GN_MIO_EVENT_TEXT ? length - from : GN_MIO_EVENT_TEXT;

		record->file = number;
		record->part = part;
		record->length = (uint16_t)bytes;
		memcpy(record->text, text + from, bytes);
		__atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
	}
}

static uint32_t thread_id(void)
{
	if (!thread_number)
		thread_number = (uint32_t)syscall(SYS_gettid);
	return thread_number;
}

void gn_mio_events_add(struct gn_mio_events_file *file, struct gn_mio_event *event)
{
	struct gn_mio_events *events = file->events;
	struct gn_mio_events_header *header = events ? header_of(events) : NULL;
	const uint16_t operation = event->operation;
	struct gn_mio_event *record;

	if (!header)
		return;
	if (file->generation != generation) {
		file->generation = generation;
		file->number = atomic_fetch_add(&events->n_files, 1);
		add_text(events, header, GN_MIO_PATH, file->number, file->path);
		add_text(events, header, GN_MIO_LAYERS, file->number, file->layers);
	}
	event->file = file->number;
	event->thread = thread_id();
	event->operation = 0;
	record = take(events, header, 1);
	if (!record)
		return;
	*record = *event;
	__atomic_store_n(&record->operation, operation, __ATOMIC_RELEASE);
}

/* --- ends ------------------------------------------------------------------------------------- */

void gn_mio_events_close_all(void)
{
	pthread_mutex_lock(&lock);
	for (struct gn_mio_events *events = all; events; events = events->next) {
		struct gn_mio_events_header *header = atomic_load(&events->header);
		uint64_t room, tail;

		if (!header || events->is_given_up)
			continue;
		room = gn_mapped_file_give_up(&events->file);
		tail = atomic_load(events->tail);
		if (tail > room)
			tail = (room - RECORDS_BEGIN) / RECORD_BYTES * RECORD_BYTES + RECORDS_BEGIN;
		atomic_store(events->tail, tail);
		header->flags |= GN_MIO_EVENTS_CLOSED;
		events->is_given_up = true;
		/* Threads that still run go on writing. */
		gn_mapped_file_finish(&events->file, tail, tail);
	}
	pthread_mutex_unlock(&lock);
}

void gn_mio_events_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	thread_number = 0;
	generation++;
	for (struct gn_mio_events *events = all; events; events = events->next) {
		if (!atomic_load(&events->header))
			continue;
		munmap(events->file.start, events->file.capacity);
		gn_mapped_file_close(&events->file);
		atomic_store(&events->header, NULL);
		atomic_store(&events->n_files, 0);
		events->is_given_up = false;
	}
}
