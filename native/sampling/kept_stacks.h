/*
 * Registers and copied stacks of samples as they came, with what the unwinder made of them, in a
 * record file (gnomon/record_file.h) of their own: for bug reports, and for tests that unwind them
 * otherwise. It ends with the last sample that has room below a limit.
 */
#ifndef GNOMON_SAMPLING_KEPT_STACKS_H
#define GNOMON_SAMPLING_KEPT_STACKS_H

#include <gnomon/record_file.h>
#include <gnomon/unwind.h>
#include <stdint.h>

#include "processes.h"
#include "sample_record.h"

/* Kinds of records, in their order. */
enum gn_kept_kind {
	GN_KEPT_STACK,
	GN_KEPT_BYTES,	 /* of the stack before it, from its stack pointer on */
	GN_KEPT_FRAME,	 /* likewise, innermost first */
	GN_KEPT_MAPPING, /* of code, as they were at the stacks that name their space */
	GN_KEPT_PATH,	 /* texts: paths of mappings, by their order in the file from 0 */
	GN_KEPT_KINDS
};

struct gn_kept_stack {
	uint64_t time_ns; /* CLOCK_MONOTONIC, as the sample has it */
	int32_t pid, tid;
	uint32_t space;
	uint32_t n_frames;
	uint32_t stack_bytes;
	uint16_t machine;			 /* enum gn_unwind_machine */
	uint16_t end;				 /* enum gn_unwind_end */
	uint64_t value[GN_UNWIND_REGISTERS_MAX]; /* by DWARF's numbers */
};

#define GN_KEPT_BYTES_MAX 2024u

struct gn_kept_bytes {
	uint32_t stack; /* by the order of stacks, from 0 */
	uint32_t offset;
	uint32_t n;
	uint32_t zero;
	uint8_t data[GN_KEPT_BYTES_MAX];
};

struct gn_kept_frame {
	uint64_t address;
	uint32_t stack;
	uint32_t flags; /* of struct gn_unwind_frame */
};

struct gn_kept_mapping {
	uint64_t start;
	uint64_t length;
	uint64_t file_offset;
	uint32_t space; /* from 1 */
	uint32_t zero;
};

struct gn_kept_stacks {
	struct gn_record_file *file; /* NULL: none are kept */
	struct gn_record_stream stream[GN_KEPT_KINDS];
	uint64_t room; /* bytes left of the limit */
	uint64_t n;    /* stacks that are in it */
	uint32_t n_spaces, n_mappings;
};

/* Makes the file, with room for `bytes`. 0 or a negative errno, of gn_record_file_open(). */
int gn_kept_stacks_open(struct gn_kept_stacks *kept, const char *path, int32_t rank,
			uint64_t bytes);
void gn_kept_stacks_close(struct gn_kept_stacks *kept);

/* A sample with a user stack; `frame` are the `n` that were made of it. */
void gn_kept_stacks_add(struct gn_kept_stacks *kept, struct gn_process *process,
			const struct gn_sample_record *sample, const struct gn_unwind_frame *frame,
			uint32_t n, unsigned int end);

#endif
