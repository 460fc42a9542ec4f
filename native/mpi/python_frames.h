/*
 * The Python functions that a call of MPI comes from, where the process has an interpreter: read by
 * the thread that calls, whose frames nobody else changes, whoever has the interpreter's lock.
 */
#ifndef GNOMON_MPI_PYTHON_FRAMES_H
#define GNOMON_MPI_PYTHON_FRAMES_H

#include <stdint.h>

#define GN_MPI_PYTHON_FRAMES_MAX 256u
#define GN_MPI_PYTHON_TEXT_BYTES 1024u

extern int gn_mpi_has_python;

/* Once in a process. An interpreter that is loaded later is not seen. */
void gn_mpi_python_begin(void);

/* Of the innermost functions, and where in each the thread is: it tells stacks apart. */
uint32_t gn_mpi_python_hash(void);

struct gn_mpi_python_frame {
	uintptr_t code;
	uint32_t line; /* 0: not known */
};

/* The innermost first; how many. */
uint32_t gn_mpi_python_stack(struct gn_mpi_python_frame *frames, uint32_t most);

/* What tells a code object from one that is at its address later. */
uint64_t gn_mpi_python_identity(uintptr_t code);

/* Its file and, behind a newline, its name. */
void gn_mpi_python_name(uintptr_t code, char *text, uint32_t size);

/* Whether a return address is in the function that runs Python functions; 1, or 0. */
int gn_mpi_python_is_loop(uintptr_t address);

/* An address in the interpreter's library or program. */
uintptr_t gn_mpi_python_address(void);

#endif
