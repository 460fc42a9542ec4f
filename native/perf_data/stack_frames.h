/*
 * The stack of a sample, whichever way it was recorded: addresses that the kernel followed by frame
 * pointers, registers and a copy of the stack, or branches that a PMU recorded of calls.
 */
#ifndef GNOMON_PERF_DATA_STACK_FRAMES_H
#define GNOMON_PERF_DATA_STACK_FRAMES_H

#include <gnomon/unwind.h>
#include <stdbool.h>
#include <stdint.h>

#include "perf_file.h"

/* A record has no more addresses; what was written apart comes to them. */
#define GN_STACK_FRAMES_MAX 8192u

enum gn_frame_mode { GN_MODE_USER, GN_MODE_KERNEL, GN_MODE_GUEST, GN_MODE_HYPERVISOR };

struct gn_stack_frame {
	uint64_t address; /* in the call, where it is one that a call returns to */
	enum gn_frame_mode mode;
};

struct gn_stack_frames {
	uint32_t n; /* the innermost one comes first */
	enum gn_unwind_end end;
	bool is_guessed;
	bool has_user;	/* frames of user code beside the innermost one */
	bool has_stack; /* it was recorded where the sample was called from */
	struct gn_stack_frame frame[GN_STACK_FRAMES_MAX];
	struct gn_unwind_frame unwound[GN_STACK_FRAMES_MAX];
};

/* Begins with the instruction of a sample; `mode` is that of its record's header. */
void gn_stack_frames_begin(struct gn_stack_frames *frames, uint64_t ip, unsigned int mode);

/* PERF_SAMPLE_CALLCHAIN. 0, or -ENOENT: its user's part was to be written apart, and is not there;
 * or -EBADMSG. */
int gn_stack_frames_chain(struct gn_stack_frames *frames, struct gn_perf_file *file,
			  const uint8_t *chain, uint64_t n);

/* Branches of calls (PERF_SAMPLE_BRANCH_CALL_STACK) as the user's part. */
void gn_stack_frames_branches(struct gn_stack_frames *frames, const uint8_t *branch, uint64_t n,
			      bool swaps);

/* A copied stack likewise. `space` may be NULL, `machine` negative: the stack is cut then. */
void gn_stack_frames_unwind(struct gn_stack_frames *frames, struct gn_unwind_space *space,
			    const struct gn_event_attr *attr, const struct gn_file_sample *sample,
			    int machine);

#endif
