/*
 * A sample as the kernel writes it into a ring. Source: perf_event_open(2), PERF_RECORD_SAMPLE; the
 * order of what PERF_SAMPLE_* asks for is that of perf_output_sample() in Linux,
 * kernel/events/core.c.
 */
#ifndef GNOMON_SAMPLING_SAMPLE_RECORD_H
#define GNOMON_SAMPLING_SAMPLE_RECORD_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "sampled_stack.h"

/* What one event of a group has counted, with PERF_FORMAT_GROUP and PERF_FORMAT_ID. */
struct gn_sampled_value {
	uint64_t count;
	uint64_t id;
};

/* Pointers lead into the ring; what the sample type does not have is zero. */
struct gn_sample_record {
	uint64_t ip;
	int32_t pid, tid;
	uint64_t time_ns;
	uint64_t data_address;
	uint32_t cpu;
	uint64_t period;
	const struct gn_sampled_value *value; /* the leader's first */
	uint64_t n_values;
	const struct perf_branch_entry *branch; /* the last one first */
	uint64_t n_branches;
	struct gn_sampled_stack stack;
	uint64_t weight;
	uint64_t data_source; /* union perf_mem_data_src */
};

/* PERF_SAMPLE_IDENTIFIER, which comes first, so that it says which type the sample is of. */
uint64_t gn_sample_record_id(const struct perf_event_header *header);

/* 0, or -EBADMSG: it is shorter than it says, or of a type that is not asked for here. */
int gn_sample_record_read(struct gn_sample_record *sample, const struct perf_event_header *header,
			  uint64_t sample_type);

#endif
