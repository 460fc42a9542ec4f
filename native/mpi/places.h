/* The places that calls come from: a routine, a communicator, and a call stack. */
#ifndef GNOMON_MPI_PLACES_H
#define GNOMON_MPI_PLACES_H

#include "call_stack.h"
#include "profile.h"

/*
 * A stack is known again by its return address and the address of its frame, and by its callers
 * (call_stack.h).
 */
struct gn_mpi_place {
	uintptr_t return_address, frame;
	uint32_t routine, communicator;
	uint32_t hash;
	struct gn_stack_callers callers;
	union gn_mpi_record *site;
};

struct gn_mpi_site {
	uint32_t routine, communicator, frame;
	union gn_mpi_record *record; /* NULL: this slot is free */
};

void gn_mpi_places_forget(struct gn_mpi_thread *thread);

/* The site that a call comes from; NULL without memory. */
union gn_mpi_record *gn_mpi_site_of_call(const struct gn_mpi_call *call);

/* A thread's own record of a site, of which another thread may have one; NULL without memory. */
union gn_mpi_record *gn_mpi_site_record(struct gn_mpi_thread *thread, uint32_t routine,
					uint32_t communicator, uint32_t frame);

/* The stack of the caller, as records of frames; the innermost one's number. */
uint32_t gn_mpi_stack_record(struct gn_mpi_thread *thread, struct gn_mpi_place *place);

#endif
