/*
 * The code objects of a process, each with a number under which its name, file and table of lines
 * are recorded once, when it is first seen on a stack.
 */
#ifndef GNOMON_PYTHON_CODE_H
#define GNOMON_PYTHON_CODE_H

#include <stdint.h>

#include "memory_probe.h"
#include "python_layout.h"

struct gn_code_table;
struct gn_code_streams;

/* The number of an object that cannot be a code object, or of which no more can be recorded. */
#define GN_CODE_NONE 0u

/* Memory of this process; in a child that is forked it is empty again. NULL: there is none. */
struct gn_code_table *gn_code_table_new(void);

/* What is known of a code object. */
struct gn_code {
	uint32_t number;
	uint32_t n_instructions;
	uint32_t n_slots; /* of its frame: locals and stack */
};

/*
 * The code object at an address that need not be one. Called in signal handlers, by several threads
 * at once. 0, or -1: it is none, or the table is full.
 */
int gn_code_find(struct gn_code_table *table, const struct gn_python *python,
		 struct gn_probe *probe, struct gn_code_streams *streams, uintptr_t address,
		 struct gn_code *code);

#endif
