/*
 * What a process did with files, call by call, where the run asks for it: a file beside that of its
 * totals, whole however the process ends.
 *
 *	struct gn_io_events_header, in its first page
 *	units of struct gn_io_event (record_spool.h), from header.records to header.tail
 *
 * A unit is of one thread, and the units of a thread are in the order of its calls. All in the byte
 * order of the machine; src/gnomon/io/event_file.py reads it.
 */
#ifndef GNOMON_IO_EVENT_FILE_H
#define GNOMON_IO_EVENT_FILE_H

#include <stdint.h>

#include "record_spool.h"
#include "totals_file.h"

#define GN_IO_EVENTS_MAGIC "\211GNIOE\n"
#define GN_IO_EVENTS_VERSION 2u
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
	GN_IO_EVENT_WIDE, /* a struct gn_io_event_wide, of the event before it in the unit */
};

#define GN_IO_EVENT_FAILED 8u
#define GN_IO_EVENT_TICKS_BIT 4

struct gn_io_event {
	uint64_t begin;	  /* gn_bare_ticks() */
	int64_t offset;	  /* where a request began, or a seek led; INT64_MIN: not known */
	uint32_t site;	  /* place of its record in the file of totals, which has all else */
	uint32_t opening; /* number of the open file; GN_TOTALS_NONE: none */
	uint32_t bytes;	  /* asked for, and delivered */
	/* Ticks that it took, above enum gn_io_event_kind and GN_IO_EVENT_FAILED in the lowest
	 * bits. */
	uint32_t ticks_and_kind;
};

/* What has no room in an event, whose own bytes and ticks are 0: what was delivered is not what was
 * asked for, or a number is too large. */
struct gn_io_event_wide {
	uint64_t asked, delivered, ticks;
	uint32_t zero;
	uint32_t kind;
};

_Static_assert(sizeof(struct gn_io_event) == 32, "as the reader has it");
_Static_assert(sizeof(struct gn_io_event_wide) == sizeof(struct gn_io_event), "one is a record");

extern int gn_io_events_are_on;

/* Behind gn_totals_open(), if the run asks for events. */
void gn_io_events_open(void);

/* At the process's end. */
void gn_io_events_close(void);

/* In a child that was forked, before it opens its own. */
void gn_io_events_forget(void);

/* For what follows: where there is no room left; NULL: there is none any more. */
struct gn_io_event *gn_io_event_turn(struct gn_spool_writer *writer);
void gn_io_event_lose(void);

/* Where the calling thread's next event of `n` records is to be written, and gn_spool_add() then;
 * NULL: it is lost, as it is if its site has no place in the file of totals. */
static inline struct gn_io_event *gn_io_event_next(struct gn_spool_writer *writer, uint32_t site,
						   uint32_t n)
{
	const ptrdiff_t bytes = (ptrdiff_t)(n * sizeof(struct gn_io_event));

	if (__builtin_expect(site == GN_TOTALS_NONE, 0)) {
		gn_io_event_lose();
		return NULL;
	}
	if (__builtin_expect(writer->end - writer->next < bytes, 0))
		return gn_io_event_turn(writer);
	return (struct gn_io_event *)writer->next;
}

#endif
