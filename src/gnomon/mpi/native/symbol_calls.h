/* dlsym(3) as the C library has it, for a library in which programs find another one. */
#ifndef GNOMON_MPI_SYMBOL_CALLS_H
#define GNOMON_MPI_SYMBOL_CALLS_H

typedef void *gn_mpi_symbol_function(void *handle, const char *name);

__attribute__((visibility("hidden"))) gn_mpi_symbol_function *gn_mpi_dlsym(void);

#endif
