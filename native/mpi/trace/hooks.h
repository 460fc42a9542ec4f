/* What the program, or somebody for it, is asked (section 4.5.1). */
#ifndef GNOMON_MPI_TRACE_HOOKS_H
#define GNOMON_MPI_TRACE_HOOKS_H

#include <stdint.h>

struct gn_trace_hooks {
	int (*event)(int id);
	int (*output_trace)(int rank);
	int (*output_text)(void);
};

/* Each NULL where there is none. */
extern struct gn_trace_hooks gn_trace_hooks;

/* Those that the program defines. */
void gn_trace_hooks_begin(void);

#endif
