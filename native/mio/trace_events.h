/*
 * The event file of the module `trace`: what was called on files, and when. It grows through a
 * mapping: after a kill -9 it has all that was recorded.
 *
 *	offset  bytes  field
 *	     0     32  magic, byte order, version, header's bytes, flags, features as of all files
 *	    32      8  records: where they begin
 *	    40      8  tail: where they end; a multiple of 64 bytes behind `records`
 *	    48      8  realtime_ns: since 1970, when `begin_ns` was
 *	    56      8  begin_ns: of the clock that records have their times of
 *	    64      8  lost: records that there was no room for
 *	    72      4  pid
 *	    76      4  zero
 *	    80    256  host
 *	   336   1024  program
 *
 * Records have 64 bytes; src/gnomon/measurement/mio_events.py reads them. One is complete once it
 * has its kind, which is written last: one of kind 0 was not, when the process was killed.
 */
#ifndef GNOMON_MIO_TRACE_EVENTS_H
#define GNOMON_MIO_TRACE_EVENTS_H

#include <stdint.h>

#define GN_MIO_EVENTS_MAGIC "\x89GNMIO\n"
#define GN_MIO_EVENTS_VERSION 1u
#define GN_MIO_EVENTS_CLOSED 1u /* flags: the process ended by itself */
#define GN_MIO_EVENT_TEXT 40	/* bytes of a path in a record */

/* What a record is of: operations of the trace, or a text of a file. */
enum gn_mio_operation {
	GN_MIO_NO_OPERATION,
	GN_MIO_OPEN,
	GN_MIO_READ,
	GN_MIO_WRITE,
	GN_MIO_SEEK, /* `offset` is where from, `result` where to */
	GN_MIO_STATUS,
	GN_MIO_TRUNCATE, /* `bytes`: the size */
	GN_MIO_SYNC,
	GN_MIO_CONTROL, /* `bytes`: the command of fcntl(2) */
	GN_MIO_CLOSE,
	GN_MIO_OPERATIONS,
	GN_MIO_PATH = 32, /* a part of a file's path */
	GN_MIO_LAYERS,	  /* of the names of the modules above and below the trace */
};

struct gn_mio_event {
	uint16_t operation; /* first: enum gn_mio_operation */
	uint16_t zero;
	uint32_t file; /* its number in this event file */
	uint32_t thread;
	uint32_t pad;
	int64_t begin_ns, end_ns;
	int64_t offset; /* INT64_MIN: none */
	uint64_t bytes; /* asked for */
	int64_t result; /* bytes, or a negative errno */
	uint64_t rest;
};

struct gn_mio_event_text {
	uint16_t kind; /* GN_MIO_PATH, GN_MIO_LAYERS */
	uint16_t length;
	uint32_t file;
	uint32_t part; /* from 0 */
	uint32_t pad;
	char text[GN_MIO_EVENT_TEXT];
	uint64_t rest;
};

struct gn_mio_events_header {
	char magic[8];
	uint32_t byte_order, version, header_bytes, flags;
	uint64_t features;
	uint64_t records, tail;
	uint64_t realtime_ns, begin_ns;
	uint64_t lost;
	uint32_t pid, zero;
	char host[256];
	char program[1024];
};

struct gn_mio_events; /* an event file of this process */

/* A file in the event file, as who records its operations keeps it. */
struct gn_mio_events_file {
	struct gn_mio_events *events; /* NULL: nothing is recorded */
	const char *path, *layers;
	uint32_t number, generation; /* of the process that it has this number in */
};

/*
 * The event file by its name, which all traces with this name share; it is made anew by the first
 * of them. Where another process records into it, and in one that was forked, the name gets the
 * number of the process. NULL: there is no memory.
 */
struct gn_mio_events *gn_mio_events_of(const char *name);

/* Numbers of the file and the thread are filled in. */
void gn_mio_events_add(struct gn_mio_events_file *file, struct gn_mio_event *event);

/* When the process ends. */
void gn_mio_events_close_all(void);

/* In a child that was forked. */
void gn_mio_events_forked(void);

#endif
