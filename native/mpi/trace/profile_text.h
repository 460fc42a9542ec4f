/* mpi_profile.RANK (section 4.4.1), in the form of Example 4-4. */
#ifndef GNOMON_MPI_TRACE_PROFILE_TEXT_H
#define GNOMON_MPI_TRACE_PROFILE_TEXT_H

#include <stdint.h>

/* What each rank tells of itself. */
struct gn_trace_rank {
	double seconds; /* of communication */
	double hops;	/* NaN: not known */
};

/* all: of `n` ranks, for the file of rank 0; else NULL. */
void gn_trace_write_text(int32_t rank, const struct gn_trace_rank *all, int32_t n);

#endif
