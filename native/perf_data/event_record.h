/*
 * The kernel's records as a file has them: the fields of a sample, and what other records end with.
 *
 * Source: perf_event_open(2), PERF_RECORD_SAMPLE and struct sample_id; the order of what
 * PERF_SAMPLE_* asks for is that of perf_output_sample() in Linux, kernel/events/core.c.
 */
#ifndef GNOMON_PERF_DATA_EVENT_RECORD_H
#define GNOMON_PERF_DATA_EVENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "event_attr.h"
#include "fields.h"

/* enum perf_event_type, as far as it is looked at. */
enum gn_perf_record_type {
	GN_RECORD_MMAP = 1,
	GN_RECORD_LOST = 2,
	GN_RECORD_COMM = 3,
	GN_RECORD_EXIT = 4,
	GN_RECORD_THROTTLE = 5,
	GN_RECORD_FORK = 7,
	GN_RECORD_SAMPLE = 9,
	GN_RECORD_MMAP2 = 10,
	GN_RECORD_LOST_SAMPLES = 13,
	GN_RECORD_KSYMBOL = 17,
	GN_RECORD_CALLCHAIN_DEFERRED = 22,
	/* Those of perf itself. */
	GN_RECORD_USER = 64,
	GN_RECORD_HEADER_ATTR = 64,
	GN_RECORD_TRACING_DATA = 66,
	GN_RECORD_BUILD_ID = 67,
	GN_RECORD_FINISHED_ROUND = 68,
	GN_RECORD_AUXTRACE = 71,
	GN_RECORD_EVENT_UPDATE = 78,
	GN_RECORD_TIME_CONV = 79,
	GN_RECORD_HEADER_FEATURE = 80,
	GN_RECORD_COMPRESSED = 81,
	GN_RECORD_COMPRESSED2 = 83,
	GN_RECORD_TYPES = 128,
};

#define GN_RECORD_HEADER_BYTES 8u

/* Of `misc`. */
enum {
	GN_MISC_MODE = 7,
	GN_MISC_KERNEL = 1,
	GN_MISC_USER = 2,
	GN_MISC_HYPERVISOR = 3,
	GN_MISC_GUEST_KERNEL = 4,
	GN_MISC_GUEST_USER = 5,
	GN_MISC_IS_DATA = 1 << 13,  /* of MMAP */
	GN_MISC_IS_EXEC = 1 << 13,  /* of COMM */
	GN_MISC_BUILD_ID = 1 << 14, /* of MMAP2 */
};

struct gn_perf_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
};

static inline struct gn_perf_header gn_perf_header_of(const uint8_t *record, bool swaps)
{
	return (struct gn_perf_header){gn_field_32(record, swaps), gn_field_16(record + 4, swaps),
				       gn_field_16(record + 6, swaps)};
}

/* What of a sample is looked at; pointers lead into the record, in the file's byte order. */
struct gn_file_sample {
	uint64_t ip;
	int32_t pid, tid;
	uint64_t time;
	uint64_t address;
	uint64_t id;
	uint32_t cpu;
	uint64_t period;
	const uint8_t *value; /* of a group: `value_words` each */
	uint64_t n_values;
	uint32_t value_words;
	const uint8_t *chain;
	uint64_t n_chain;
	const uint8_t *branch; /* three words each, the last one first */
	uint64_t n_branches;
	uint64_t registers_abi;
	const uint8_t *registers;
	const uint8_t *stack;
	uint64_t stack_bytes;
	uint64_t latency;
	uint64_t data_source;
	bool has_period, has_chain;
};

/*
 * The number of the event that a record is of. GN_NO_NUMBER: its id is none of the file's; -EBADMSG
 * where it is too short.
 */
int gn_record_event(const struct gn_event_attrs *attrs, const uint8_t *record,
		    const struct gn_perf_header *header, uint32_t *event);

/* When it was. 0: it does not say, -EBADMSG: it is too short. */
int gn_record_time(const struct gn_event_attr *attr, const uint8_t *record,
		   const struct gn_perf_header *header, bool swaps, uint64_t *time);

/* 0, or -EBADMSG: the record is shorter than it says. */
int gn_file_sample_read(struct gn_file_sample *sample, const struct gn_event_attr *attr,
			const uint8_t *record, const struct gn_perf_header *header, bool swaps);

#endif
