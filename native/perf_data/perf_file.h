/*
 * What is kept of a perf.data file, or of what `perf record -o -` wrote, as a whole: its events,
 * which records there are and when each was, and the modules that they name.
 */
#ifndef GNOMON_PERF_DATA_PERF_FILE_H
#define GNOMON_PERF_DATA_PERF_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "byte_source.h"
#include "event_attr.h"
#include "event_record.h"
#include "mapped_files.h"
#include "rows.h"
#include "zstd_stream.h"

/* A record that has to be taken in its turn. */
struct gn_record_entry {
	uint64_t time;
	uint64_t position; /* in the file, or GN_UNPACKED and in what was decompressed */
};

#define GN_UNPACKED ((uint64_t)1 << 63)

/* What perf says beside the kernel's records: a feature of the header (perf_event_attr's file), by
 * its number, or a record by GN_NOTE_RECORD and its type. */
struct gn_perf_note {
	uint32_t kind;
	uint32_t zero;
	uint64_t offset, bytes;
};

#define GN_NOTE_RECORD 1024u
#define GN_FEATURES 256u

/* A function that was made in the kernel while it ran. */
struct gn_kernel_symbol {
	uint64_t address;
	uint64_t bytes;
	char *name;
};

struct gn_deferred_chain {
	uint64_t cookie;
	uint64_t position;
};

struct gn_perf_problem {
	uint64_t offset;
	char text[160];
};

struct gn_perf_file {
	struct gn_byte_source file, unpacked;
	struct gn_event_attrs attrs;
	struct gn_mapped_files mapped;
	struct gn_rows entry;	 /* struct gn_record_entry, by time once all are there */
	struct gn_rows note;	 /* struct gn_perf_note */
	struct gn_rows symbol;	 /* struct gn_kernel_symbol */
	struct gn_rows deferred; /* struct gn_deferred_chain, by their cookies likewise */
	struct gn_zstd_stream zstd;
	struct gn_perf_problem problem;
	uint8_t *pending; /* decompressed, not yet whole records */
	uint64_t n_pending;
	uint64_t n_unpacked; /* bytes that were taken of what was decompressed */
	uint64_t records[GN_RECORD_TYPES];
	uint64_t lost, lost_samples;
	uint64_t odd_records;  /* of types that are not known here */
	uint64_t unknown_ids;  /* samples of events that the file does not have */
	uint64_t kernel_start; /* what the kernel's first symbol was when it was recorded; 0 */
	uint64_t at;	       /* where the record is that is being read */
	uint64_t newest, flushed, next_flush;
	char kernel_symbol[32]; /* which one that is */
	bool swaps, is_pipe;
	bool is_unfinished; /* perf record did not end as it should */
	bool is_cut;	    /* the file ends within its records */
};

void gn_perf_file_close(struct gn_perf_file *file);

/* Takes note of what is wrong at a place. -EBADMSG. */
int gn_perf_refuse(struct gn_perf_file *file, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A record, as long as no other one is asked for. NULL: it cannot be read any more. */
const uint8_t *gn_perf_record(struct gn_perf_file *file, uint64_t position,
			      struct gn_perf_header *header);

/* One of the words of 64 bits behind a record's header; 0 where it is too short. */
static inline uint64_t gn_perf_word(const struct gn_perf_file *file, const uint8_t *record,
				    const struct gn_perf_header *header, unsigned int number)
{
	const uint64_t at = GN_RECORD_HEADER_BYTES + 8 * number;

	return header->size >= at + 8 ? gn_field_64(record + at, file->swaps) : 0;
}

/* 0 or -ENOMEM. */
int gn_perf_note_add(struct gn_perf_file *file, uint32_t kind, uint64_t offset, uint64_t bytes);

/* Takes an event of `n` bytes, which lie at an offset. 0, -ENOMEM, or -EBADMSG with the problem
 * told. */
int gn_perf_event_add(struct gn_perf_file *file, const uint8_t *attr, uint64_t n, uint64_t offset);

#endif
