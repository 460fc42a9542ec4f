/*
 * The Python functions that a call comes from, where the process has an interpreter: read by
 * the thread that calls, whose frames nobody else changes, whoever has the interpreter's lock.
 */
#ifndef GNOMON_PYTHON_FRAMES_H
#define GNOMON_PYTHON_FRAMES_H

#include <stdint.h>

#define GN_PYTHON_CALLER_FRAMES_MAX 256u
#define GN_PYTHON_CALLER_TEXT_BYTES 1024u

extern int gn_has_python_callers;

/* Once in a process. An interpreter that is loaded later is not seen. */
void gn_python_caller_begin(void);

/* Of the innermost functions, and where in each the thread is: it tells stacks apart. */
uint32_t gn_python_caller_hash(void);

struct gn_python_caller_frame {
	uintptr_t code;
	uint32_t line; /* 0: not known */
};

/* The innermost first; how many. */
uint32_t gn_python_caller_stack(struct gn_python_caller_frame *frames, uint32_t most);

/* What tells a code object from one that is at its address later. */
uint64_t gn_python_caller_identity(uintptr_t code);

/* Its file and, behind a newline, its name. */
void gn_python_caller_name(uintptr_t code, char *text, uint32_t size);

/* Whether a return address is in the function that runs Python functions; 1, or 0. */
int gn_python_caller_is_loop(uintptr_t address);

/* An address in the interpreter's library or program. */
uintptr_t gn_python_caller_address(void);

#endif
