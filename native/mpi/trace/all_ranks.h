/*
 * What ranks tell each other: by the MPI that the wrappers are compiled with, which hands these
 * functions over. All ranks of MPI_COMM_WORLD have to be linked with libmpitrace.
 */
#ifndef GNOMON_MPI_TRACE_ALL_RANKS_H
#define GNOMON_MPI_TRACE_ALL_RANKS_H

#include <stdint.h>

/* Each returns 0, or an error of MPI's. */
struct gn_trace_mpi {
	/* `bytes` of each rank, in their order; `all` of a rank that is not the root may be NULL.
	 */
	int (*gather)(const void *own, int bytes, void *all, int root);
	int (*allgather)(const void *own, int bytes, void *all);
	int (*broadcast)(void *bytes, int n, int root);
};

/* Once MPI is up, until it is not any more: NULL. */
void gn_trace_set_mpi(const struct gn_trace_mpi *mpi);
const struct gn_trace_mpi *gn_trace_mpi(void);

/* A value of a rank; NaN comes last in order. */
struct gn_trace_value {
	double value;
	int32_t rank, zero;
};

void gn_trace_sort(struct gn_trace_value *values, int32_t n);

/* The one in the middle of those sorted ones that are no NaN, the lower one of two; 0: there is
 * none. */
int32_t gn_trace_median(const struct gn_trace_value *sorted, int32_t n);

#endif
