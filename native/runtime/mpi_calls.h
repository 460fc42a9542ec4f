/*
 * The few MPI functions that the tree needs, as they are in the program: nothing is linked with any
 * MPI. Known are the two binary interfaces that there are: Open MPI's, whose handles are addresses,
 * and MPICH's (Intel MPI, MVAPICH, Cray), whose handles are numbers.
 */
#ifndef GNOMON_RUNTIME_MPI_CALLS_H
#define GNOMON_RUNTIME_MPI_CALLS_H

#include <stddef.h>

union gn_mpi_handle {
	int number;
	void *address;
};

/* 0; or ENOTSUP: no MPI that is known and up, or this thread may not call it. */
int gn_mpi_find(int *rank, int *ranks);

/* To and from MPI_COMM_WORLD. 0, or an error of MPI's. */
int gn_mpi_isend(const void *bytes, int size, int rank, int tag, union gn_mpi_handle *request);
int gn_mpi_irecv(void *bytes, int size, int rank, int tag, union gn_mpi_handle *request);

/* Whether it is complete, which frees it: 1, 0, or negative. */
int gn_mpi_test(union gn_mpi_handle *request);

/* Of one that receives: it will be complete soon, with a message or without. */
void gn_mpi_cancel(union gn_mpi_handle *request);

/* It is MPI's alone from now on. */
void gn_mpi_forget(union gn_mpi_handle *request);

#endif
