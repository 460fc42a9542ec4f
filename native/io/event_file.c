#include "event_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tick_rate.h"

#define RECORDS_BEGIN 4096u
#define ENDING ".totals"
#define OWN_ENDING ".events"

_Static_assert(sizeof(struct gn_io_events_header) == 80, "as the reader has it");
_Static_assert(sizeof(ENDING) == sizeof(OWN_ENDING), "one takes the other's place");

int gn_io_events_are_on;
static struct gn_mapped_file file;
static struct gn_io_events_header *opened;

static uint64_t bytes_asked_for(void)
{
	const char *text = secure_getenv(GN_IO_EVENTS_VARIABLE);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* Beside the file of totals. 0, or a negative errno. */
static int create(uint64_t capacity)
{
	const char *totals = gn_totals_path();
	const size_t length = totals ? strlen(totals) : 0;
	char path[PATH_MAX];

	if (length < sizeof(ENDING) || length >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, totals, length + 1);
	memcpy(path + length - strlen(ENDING), OWN_ENDING, sizeof(OWN_ENDING));
	return gn_mapped_file_create(&file, path, gn_mapped_file_capacity(capacity), RECORDS_BEGIN);
}

void gn_io_events_open(void)
{
	const struct gn_totals_header *totals = gn_totals_header();
	const uint64_t capacity = bytes_asked_for();
	struct gn_io_events_header *header;
	int failed;

	if (!capacity || !totals)
		return;
	failed = create(RECORDS_BEGIN + capacity);
	if (failed) {
		gn_mapped_file_report(&file, -failed, 0);
		return;
	}
	header = (struct gn_io_events_header *)file.start;
	header->byte_order = GN_TOTALS_BYTE_ORDER;
	header->version = GN_IO_EVENTS_VERSION;
	header->header_bytes = sizeof(*header);
	header->records = header->tail = RECORDS_BEGIN;
	header->capacity = file.capacity;
	header->realtime_ns = totals->realtime_ns;
	header->pid = totals->pid;
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, GN_IO_EVENTS_MAGIC, sizeof(header->magic));
	opened = header;
	gn_io_events_are_on = 1;
}

void gn_io_events_close(void)
{
	uint64_t room, tail;

	if (!opened)
		return;
	gn_io_events_are_on = 0;
	room = gn_mapped_file_give_up(&file);
	tail = atomic_load(&opened->tail);
	if (tail > room)
		tail = room;
	opened->flags |= GN_IO_EVENTS_CLOSED;
	/* Threads that still run go on writing. */
	gn_mapped_file_finish(&file, tail, tail);
}

void gn_io_events_forget(void)
{
	gn_io_events_are_on = 0;
	if (!opened)
		return;
	munmap(file.start, file.capacity);
	gn_mapped_file_close(&file);
	opened = NULL;
}

struct gn_io_event *gn_io_event_take(struct gn_record_chunk *chunk)
{
	struct gn_totals_header *totals = gn_totals_header();
	int failed = -EBADF;

	if (opened && gn_io_events_are_on)
		failed = gn_record_chunk_take(chunk, &file, &opened->tail,
					      sizeof(struct gn_io_event));
	if (failed) {
		if (opened && !opened->stop_error)
			opened->stop_error = (uint32_t)-failed;
		gn_io_event_lose();
		return NULL;
	}
	/* The longer it has run the better the rate is known; a kill may come at any time. */
	totals->ticks_hz = gn_tick_rate_hz();
	return gn_record_next(chunk, sizeof(struct gn_io_event));
}

void gn_io_event_lose(void)
{
	if (opened)
		atomic_fetch_add_explicit(&opened->lost, 1, memory_order_relaxed);
}
