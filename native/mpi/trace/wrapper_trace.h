/*
 * What makes libmpitrace of generated wrappers: a part of wrapper.h, with GN_MPI_TRACE defined. It
 * is compiled with the MPI's own header.
 */
#ifndef GNOMON_MPI_WRAPPER_TRACE_H
#define GNOMON_MPI_WRAPPER_TRACE_H

#include <mpi.h>

#include "all_ranks.h"
#include "callers.h"
#include "finalize.h"
#include "hooks.h"
#include "profile.h"
#include "python_hooks.h"
#include "routine_sums.h"

/* By this the stub of `gnomon run` knows that calls go through these wrappers. */
__attribute__((visibility("default"), used)) const int gnomon_mpi_is_linked = 1;

static int gn_trace_gather(const void *own, int bytes, void *all, int root)
{
	return PMPI_Gather((void *)own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root,
			   MPI_COMM_WORLD);
}

static int gn_trace_allgather(const void *own, int bytes, void *all)
{
	return PMPI_Allgather((void *)own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static int gn_trace_broadcast(void *bytes, int n, int root)
{
	return PMPI_Bcast(bytes, n, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void gn_trace_load(void)
{
	gn_mpi_profile_stands_alone();
	gn_trace_hooks_begin();
}

static void gn_trace_begin(void)
{
	static const struct gn_trace_mpi mpi = {gn_trace_gather, gn_trace_allgather,
						gn_trace_broadcast};

	gn_trace_set_mpi(&mpi);
	gn_trace_up();
	if (gn_totals_header())
		gn_trace_load_python_hooks(gn_totals_header()->rank);
}

/* Before MPI_Finalize; not before what ends MPI otherwise. */
static void gn_trace_end(uint32_t routine)
{
	if (routine == GN_MPI_ID_Finalize)
		gn_trace_finish();
	gn_trace_set_mpi(NULL);
}

/* In the place of gn_mpi_end(): what the program defines is asked once the call is counted. What
 * it calls of MPI is not. */
static inline void gn_trace_call_end(struct gn_mpi_call *call)
{
	struct gn_mpi_thread *thread = call->thread;

	if (thread->calls.stack_end > call->frame)
		gn_trace_note_stack(thread->calls.stack_end - call->frame, call->routine);
	gn_mpi_end(call);
	/* Not before MPI_Init and after MPI_Finalize, where it could not call MPI. */
	if (__builtin_expect(gn_trace_hooks.event != NULL, 0) && gn_mpi_all.is_up) {
		thread->frame = UINTPTR_MAX;
		gn_trace_ask_event(call->routine, call->return_address);
		thread->frame = 0;
	}
}

#define gn_mpi_end gn_trace_call_end

#endif
