/* Hooks in a file of Python, for programs of Python: src/gnomon/mpi/trace_hooks.py. */
#ifndef GNOMON_MPI_TRACE_PYTHON_HOOKS_H
#define GNOMON_MPI_TRACE_PYTHON_HOOKS_H

/* The user's file, and the one that reads it, which `gnomon run` names. */
#define GN_TRACE_HOOKS_VARIABLE "GNOMON_MPI_HOOKS"
#define GN_TRACE_LOADER_VARIABLE "GNOMON_MPI_HOOKS_LOADER"

/* Once MPI is up: has the interpreter of this process read the file, if one is named. */
void gn_trace_load_python_hooks(int rank);

#endif
