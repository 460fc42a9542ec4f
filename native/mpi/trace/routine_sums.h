/* What this process has called of MPI so far, added up over its threads and sites. */
#ifndef GNOMON_MPI_TRACE_ROUTINE_SUMS_H
#define GNOMON_MPI_TRACE_ROUTINE_SUMS_H

#include <stdint.h>

#define GN_TRACE_BINS 65u

struct gn_trace_sum {
	uint64_t calls, bytes, ticks;
};

/* How many IDs there are: 1 to this; 0: nothing is recorded. */
uint32_t gn_trace_n_routines(void);

/* NULL for what is no ID. */
const char *gn_trace_name(int id);

/* Of a routine, or of ALLMPI_ID. Bytes are those of the sizes by which calls are told apart: what
 * was sent, or received where nothing is sent. */
struct gn_trace_sum gn_trace_sum_of(int id);

/* Whether a routine's time is no communication: it begins or ends MPI. */
int gn_trace_is_frame(int id);

/* Calls of a routine by the size of what they moved, in classes as the totals file has them. */
void gn_trace_sizes(int id, struct gn_trace_sum size[GN_TRACE_BINS]);

/* Bytes that were sent to each of `n` ranks, point to point, added to `bytes`. */
void gn_trace_sent(double *bytes, int32_t n);

double gn_trace_seconds(uint64_t ticks);
/* From MPI_Init to MPI_Finalize, or to now; 0 before. */
double gn_trace_elapsed(void);

/* The deepest stack that MPI was called with, and the ID of what was called; both 0: none yet. */
void gn_trace_note_stack(uint64_t bytes, uint32_t routine);
uint64_t gn_trace_deepest_stack(uint32_t *routine);

#endif
