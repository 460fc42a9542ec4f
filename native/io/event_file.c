#include "event_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "scratch_memory.h"
#include "tick_rate.h"

#define HEADER_BYTES 4096u
/* At an offset that is a multiple of its size, a unit is one piece of memory to the kernel. */
#define RECORDS_BEGIN ((uint64_t)GN_SPOOL_RECORDS * sizeof(struct gn_io_event))
#define ENDING ".totals"
#define OWN_ENDING ".events"

_Static_assert(sizeof(struct gn_io_events_header) == 80, "as the reader has it");
_Static_assert(sizeof(ENDING) == sizeof(OWN_ENDING), "one takes the other's place");

int gn_io_events_are_on;
static struct gn_spool spool;
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
	char *path;
	int failed;

	if (length < sizeof(ENDING) || length >= PATH_MAX)
		return -ENAMETOOLONG;
	path = gn_scratch_take();
	if (!path)
		return -ENOMEM;
	memcpy(path, totals, length + 1);
	memcpy(path + length - strlen(ENDING), OWN_ENDING, sizeof(OWN_ENDING));
	failed = gn_mapped_file_create(&spool.file, path, gn_mapped_file_capacity(capacity),
				       HEADER_BYTES);
	gn_scratch_give(path);
	return failed;
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
		gn_mapped_file_report(&spool.file, -failed, 0);
		return;
	}
	header = (struct gn_io_events_header *)spool.file.start;
	header->byte_order = GN_TOTALS_BYTE_ORDER;
	header->version = GN_IO_EVENTS_VERSION;
	header->header_bytes = sizeof(*header);
	header->records = header->tail = RECORDS_BEGIN;
	header->capacity = spool.file.capacity;
	header->realtime_ns = totals->realtime_ns;
	header->pid = totals->pid;
	spool.begin = RECORDS_BEGIN;
	spool.tail = &header->tail;
	spool.record_bytes = sizeof(struct gn_io_event);
	atomic_thread_fence(memory_order_release);
	memcpy(header->magic, GN_IO_EVENTS_MAGIC, sizeof(header->magic));
	opened = header;
	gn_io_events_are_on = 1;
}

void gn_io_events_close(void)
{
	uint64_t tail;

	if (!opened)
		return;
	gn_io_events_are_on = 0;
	tail = gn_spool_end(&spool);
	opened->tail = tail;
	/* Threads that still run go on writing. Where it may not be so long, it is as after a kill.
	 */
	if (!gn_mapped_file_finish(&spool.file, tail, tail))
		opened->flags |= GN_IO_EVENTS_CLOSED;
}

void gn_io_events_forget(void)
{
	gn_io_events_are_on = 0;
	if (!opened)
		return;
	munmap(spool.file.start, spool.file.capacity);
	gn_mapped_file_close(&spool.file);
	memset(&spool, 0, sizeof(spool));
	opened = NULL;
}

void gn_io_event_lose(void)
{
	atomic_fetch_add_explicit(&opened->lost, 1, memory_order_relaxed);
}

struct gn_io_event *gn_io_event_turn(struct gn_spool_writer *writer)
{
	if (gn_spool_turn(&spool, writer)) {
		opened->stop_error = (uint32_t)atomic_load(&spool.error);
		gn_io_event_lose();
		return NULL;
	}
	/* The longer it has run the better the rate is known; a kill may come at any time. */
	gn_totals_header()->ticks_hz = gn_tick_rate_hz();
	return (struct gn_io_event *)writer->next;
}
