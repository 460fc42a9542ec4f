/* What is recorded of a process that runs Python; src/gnomon/sampling/python_records.py reads it.
 */
#ifndef GNOMON_PYTHON_RECORDS_H
#define GNOMON_PYTHON_RECORDS_H

#include <gnomon/recorder.h>

/* Who writes them, as files are named. */
#define GN_PYTHON_WRITER "python"

enum gn_python_kind {
	GN_PYTHON_PROCESS,
	GN_PYTHON_CODE,
	GN_PYTHON_TEXT, /* of code object N: name 2 N, file 2 N + 1 */
	GN_PYTHON_LINES,
	GN_PYTHON_NODE,
	GN_PYTHON_SAMPLE,
	GN_PYTHON_KINDS
};

struct gn_python_process {
	uint32_t version; /* as in Py_Version */
	uint32_t state;	  /* enum gn_python_state */
	int32_t parent;	  /* that it was forked from, and runs the program of; 0: none */
	uint32_t zero;
};

enum gn_python_state {
	GN_PYTHON_IS_READ,
	GN_PYTHON_IS_UNKNOWN, /* a version or build whose frames are not known */
	GN_PYTHON_IS_REFUSED, /* its events could not be opened */
	GN_PYTHON_IS_NAMED,   /* by trampolines of its interpreter: a perf map has its functions */
	GN_PYTHON_IS_READ_INSTEAD, /* trampolines were wanted, which it has not */
};

struct gn_python_code {
	uint32_t code;
	int32_t first_line;
	uint32_t line_table_bytes;
	uint32_t zero;
};

/* A piece of a code object's table of lines (co_linetable). */
struct gn_python_lines {
	uint32_t code;
	uint32_t offset;
	uint8_t bytes[56];
};

/* A function that runs, called from its parent; 0: from none. */
struct gn_python_node {
	uint32_t node; /* from 1 */
	uint32_t parent;
	uint32_t code;
	int32_t instruction; /* its number in the code object; -1: before the first */
	uint32_t is_entry;   /* called by C, in an evaluation loop of its own */
	uint32_t zero;
};

struct gn_python_sample {
	uint64_t
		time_ns; /* CLOCK_MONOTONIC, when its signal came: just behind the event's sample */
	int32_t tid;
	uint32_t node;	 /* the innermost function; 0: none */
	uint32_t status; /* enum gn_python_status */
	uint32_t depth;	 /* frames that were read */
};

enum gn_python_status {
	GN_PYTHON_READ,
	GN_PYTHON_OUTSIDE,    /* the thread runs no Python function */
	GN_PYTHON_UNREADABLE, /* the interpreter was just changing its frames */
	GN_PYTHON_LATE,	      /* the thread had blocked the signal */
	GN_PYTHON_CUT,	      /* the outermost frames of a very deep stack are missing */
};

#endif
