/*
 * What a process did with files, call by call, where the run asks for it: a file beside that of its
 * totals, mapped into it likewise, so that it is there however the process ends.
 *
 *	struct gn_io_events_header, in its first page
 *	struct gn_io_event, from header.records to header.tail
 *
 * Threads take records in chunks: those of a thread are in the order of its calls. One that has no
 * kind was not written, or not to its end, when the process was killed. All in the byte order of
 * the machine; src/gnomon/io/event_file.py reads it.
 */
#ifndef GNOMON_IO_EVENT_FILE_H
#define GNOMON_IO_EVENT_FILE_H

#include <stdint.h>

#include "record_chunk.h"
#include "totals_file.h"

#define GN_IO_EVENTS_MAGIC "\211GNIOE\n"
#define GN_IO_EVENTS_VERSION 1u
#define GN_IO_EVENTS_CLOSED 1u /* of header.flags: the process ended by itself */

/* How many bytes of events a process may leave; unset, or 0: none are recorded. */
#define GN_IO_EVENTS_VARIABLE "GNOMON_IO_TRACE"

struct gn_io_events_header {
	char magic[8]; /* written last */
	uint32_t byte_order, version, header_bytes, flags;
	uint64_t features;
	uint64_t records;
	_Atomic uint64_t tail;
	_Atomic uint64_t lost;	  /* events that there was no room for */
	uint64_t capacity;	  /* bytes, at most */
	uint64_t realtime_ns;	  /* as in the file of totals, which has the clock's rate */
	uint32_t pid, stop_error; /* errno: why events are lost */
};

enum gn_io_event_kind {
	GN_IO_EVENT_UNUSED,
	GN_IO_EVENT_CALL, /* that moves no bytes, or not now */
	GN_IO_EVENT_READ,
	GN_IO_EVENT_WRITE,
};

#define GN_IO_EVENT_FAILED 0x80u

struct gn_io_event {
	uint64_t begin; /* gn_bare_ticks() */
	uint64_t asked, delivered;
	int64_t offset;	  /* where a request began, or a seek led; INT64_MIN: not known */
	uint32_t site;	  /* place of its record in the file of totals, which has all else */
	uint32_t opening; /* number of the open file; GN_TOTALS_NONE: none */
	/* Written last: enum gn_io_event_kind and GN_IO_EVENT_FAILED in the lowest byte, above it
	 * how many ticks it took. */
	_Atomic uint64_t kind_and_ticks;
};

_Static_assert(sizeof(struct gn_io_event) == 48, "as the reader has it");

extern int gn_io_events_are_on;

/* Behind gn_totals_open(), if the run asks for events. */
void gn_io_events_open(void);

/* At the process's end. */
void gn_io_events_close(void);

/* In a child that was forked, before it opens its own. */
void gn_io_events_forget(void);

/* A record for the calling thread's next event, of a call from a site; NULL: it is lost. */
struct gn_io_event *gn_io_event_take(struct gn_record_chunk *chunk);
void gn_io_event_lose(void);

static inline struct gn_io_event *gn_io_event_next(struct gn_record_chunk *chunk)
{
	struct gn_io_event *event = gn_record_next(chunk, sizeof(*event));

	return __builtin_expect(event != NULL, 1) ? event : gn_io_event_take(chunk);
}

#endif
