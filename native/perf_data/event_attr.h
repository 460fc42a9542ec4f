/*
 * The events of a file: struct perf_event_attr as old and new kernels have it, in either byte
 * order, and the numbers (ids) by which records refer to them.
 *
 * Source: perf_event_open(2); linux/perf_event.h.
 */
#ifndef GNOMON_PERF_DATA_EVENT_ATTR_H
#define GNOMON_PERF_DATA_EVENT_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "number_map.h"
#include "rows.h"

/* PERF_SAMPLE_*: what older headers of Linux do not have. */
enum {
	GN_HAS_IP = 1 << 0,
	GN_HAS_TID = 1 << 1,
	GN_HAS_TIME = 1 << 2,
	GN_HAS_ADDR = 1 << 3,
	GN_HAS_READ = 1 << 4,
	GN_HAS_CALLCHAIN = 1 << 5,
	GN_HAS_ID = 1 << 6,
	GN_HAS_CPU = 1 << 7,
	GN_HAS_PERIOD = 1 << 8,
	GN_HAS_STREAM_ID = 1 << 9,
	GN_HAS_RAW = 1 << 10,
	GN_HAS_BRANCH_STACK = 1 << 11,
	GN_HAS_REGS_USER = 1 << 12,
	GN_HAS_STACK_USER = 1 << 13,
	GN_HAS_WEIGHT = 1 << 14,
	GN_HAS_DATA_SRC = 1 << 15,
	GN_HAS_IDENTIFIER = 1 << 16,
	GN_HAS_TRANSACTION = 1 << 17,
	GN_HAS_REGS_INTR = 1 << 18,
	GN_HAS_PHYS_ADDR = 1 << 19,
	GN_HAS_AUX = 1 << 20,
	GN_HAS_CGROUP = 1 << 21,
	GN_HAS_DATA_PAGE_SIZE = 1 << 22,
	GN_HAS_CODE_PAGE_SIZE = 1 << 23,
	GN_HAS_WEIGHT_STRUCT = 1 << 24,
	GN_HAS_KNOWN = (1 << 25) - 1,
};

/* PERF_FORMAT_* */
enum {
	GN_FORMAT_ENABLED = 1 << 0,
	GN_FORMAT_RUNNING = 1 << 1,
	GN_FORMAT_ID = 1 << 2,
	GN_FORMAT_GROUP = 1 << 3,
	GN_FORMAT_LOST = 1 << 4,
};

/* Of `flags`, as little-endian machines number the bit fields of struct perf_event_attr. */
enum {
	GN_ATTR_EXCLUDE_KERNEL = 1 << 5,
	GN_ATTR_IS_FREQUENCY = 1 << 10,
	GN_ATTR_SAMPLE_ID_ALL = 1 << 18,
};

enum {
	GN_BRANCH_CALL_STACK = 1 << 11,
	GN_BRANCH_HW_INDEX = 1 << 17,
	GN_BRANCH_COUNTERS = 1 << 19,
};

struct gn_event_attr {
	uint64_t config;
	uint64_t sample_period; /* or frequency */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint64_t branch_type;
	uint64_t user_registers; /* bits of those that samples have */
	uint64_t interrupt_registers;
	uint64_t first_id; /* 0: it has none */
	uint32_t type;
	uint32_t n_ids;
};

struct gn_event_id {
	uint64_t id;
	uint64_t counted; /* when it was read last, with GN_HAS_READ */
	uint32_t attr;
};

struct gn_event_attrs {
	struct gn_rows attr; /* struct gn_event_attr */
	struct gn_rows id;   /* struct gn_event_id */
	struct gn_number_map ids;
	bool swaps;
};

/*
 * Takes an event of `n` bytes. 0, -EBADMSG: it is malformed, -ENOTSUP: its samples have what is not
 * known here, or -ENOMEM.
 */
int gn_event_attr_add(struct gn_event_attrs *attrs, const uint8_t *bytes, uint64_t n);
/* An id of the last event. 0 or -ENOMEM. */
int gn_event_id_add(struct gn_event_attrs *attrs, uint64_t id);
void gn_event_attrs_free(struct gn_event_attrs *attrs);

static inline struct gn_event_attr *gn_event_attr(const struct gn_event_attrs *attrs, uint32_t n)
{
	return (struct gn_event_attr *)attrs->attr.row + n;
}

/* NULL: no event has it. */
struct gn_event_id *gn_event_id(const struct gn_event_attrs *attrs, uint64_t id);

#endif
