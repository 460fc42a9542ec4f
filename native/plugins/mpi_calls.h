/*
 * The few MPI functions that the tree needs, as they are in the program: nothing is linked with any
 * MPI. Known are the two binary interfaces that there are: Open MPI's, whose handles are addresses,
 * and MPICH's (Intel MPI, MVAPICH, Cray), whose handles are numbers.
 */
#ifndef GNOMON_PLUGINS_MPI_CALLS_H
#define GNOMON_PLUGINS_MPI_CALLS_H

#include <stddef.h>

union hpm_mpi_handle {
	int number;
	void *address;
};

/* 0; or ENOTSUP: no MPI that is known and up, or this thread may not call it. */
int hpm_mpi_find(int *task, int *tasks);

/* To and from MPI_COMM_WORLD. 0, or an error of MPI's. */
int hpm_mpi_isend(const void *bytes, int size, int task, int tag, union hpm_mpi_handle *request);
int hpm_mpi_irecv(void *bytes, int size, int task, int tag, union hpm_mpi_handle *request);

/* Whether it is complete, which frees it: 1, 0, or negative. */
int hpm_mpi_test(union hpm_mpi_handle *request);

/* Of one that receives: it will be complete soon, with a message or without. */
void hpm_mpi_cancel(union hpm_mpi_handle *request);

/* It is MPI's alone from now on. */
void hpm_mpi_forget(union hpm_mpi_handle *request);

#endif
