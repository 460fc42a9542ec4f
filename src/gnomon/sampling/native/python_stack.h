/*
 * The Python functions that a thread runs, read by the thread itself in the handler of a sample's
 * signal: nothing moves meanwhile. But the sample may have come while the interpreter was changing
 * its frames, so that what is read is checked: the links between evaluation loops must agree.
 */
#ifndef GNOMON_PYTHON_STACK_H
#define GNOMON_PYTHON_STACK_H

#include <stdint.h>

#include "memory_probe.h"
#include "python_code.h"
#include "python_layout.h"

/* Some 0.1 ms for a sample: of what is deeper the innermost part is read. */
#define GN_PYTHON_DEPTH_MAX 4096u

struct gn_python_frame {
	uint32_t code;
	int32_t instruction; /* -1: before the first */
	uint32_t is_entry;   /* C called it: the evaluation loop's outermost function */
};

struct gn_python_stack {
	uint32_t n;
	struct gn_python_frame frame[GN_PYTHON_DEPTH_MAX]; /* innermost first */
};

/* Where to read, and what is needed for it. */
struct gn_python_reader {
	const struct gn_python *python;
	struct gn_code_table *codes;
	struct gn_code_streams *streams;
	struct gn_probe *probe;
};

/* Of the thread with this PyThreadState. An enum gn_python_status. */
int gn_python_stack_read(const struct gn_python_reader *reader, uintptr_t thread,
			 struct gn_python_stack *stack);

#endif
