/* The MPI library that this process has loaded, whoever asked for it. */
#ifndef GNOMON_RUNTIME_MPI_LIBRARY_H
#define GNOMON_RUNTIME_MPI_LIBRARY_H

/*
 * A handle for dlsym(3) of a library named libmpi... that has a symbol, itself or by what it needs;
 * NULL: there is none. What is loaded stays so, as the handle is never closed.
 */
void *gn_mpi_library(const char *symbol);

#endif
