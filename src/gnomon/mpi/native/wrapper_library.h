/* The wrappers of the MPI that this process has. */
#ifndef GNOMON_MPI_WRAPPER_LIBRARY_H
#define GNOMON_MPI_WRAPPER_LIBRARY_H

#include <stdint.h>

/*
 * The folders with wrappers, separated by colons. A file, libgnomon_mpi-WHICH.so, is named by the
 * MPI library that it is for: its build id in hexadecimal digits, or for a library without one its
 * size in bytes and its time of modification in seconds, with a hyphen between them. That with the
 * name by which programs ask for a library (libmpi.so.40) is for all that are compatible.
 */
#define GN_MPI_WRAPPERS_VARIABLE "GNOMON_MPI_WRAPPERS"

/*
 * The function of a name that programs call: the wrapper's, else the MPI's own, else one that does
 * nothing, for a process without MPI. is_final: it stays so. The stubs of further functions, which
 * each MPI has its own of, call it in the common one.
 */
__attribute__((visibility("default"))) uintptr_t gn_mpi_find(const char *name, int *is_final);

#endif
