/*
 * What generated wrappers are made of (gnomon/mpi/wrapper_source.py): the parts of the profile that
 * an MPI's own header is needed for. Included once, by them.
 */
#ifndef GNOMON_MPI_WRAPPER_H
#define GNOMON_MPI_WRAPPER_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "profile.h"
#include "requests.h"

/* --- bytes ------------------------------------------------------------------------------------ */

static inline int64_t gn_mpi_bytes(int64_t count, MPI_Datatype type)
{
	int size = 0;

	if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size))
		return 0;
	/* Beyond 2 GiB an int has no room for it. */
	if (size == MPI_UNDEFINED) {
		MPI_Count large = 0;

		PMPI_Type_size_x(type, &large);
		return count * (int64_t)large;
	}
	return count * size;
}

/* What came, as a status has it; 0 where it has none. */
static inline int64_t gn_mpi_status_bytes(const MPI_Status *status)
{
	MPI_Count n = 0;

	if (PMPI_Get_elements_x(status, MPI_BYTE, &n) || n < 0)
		return 0;
	return (int64_t)n;
}

/* --- communicators ---------------------------------------------------------------------------- */

static inline void gn_mpi_set_communicator(struct gn_mpi_call *call, MPI_Comm comm)
{
	const struct gn_mpi_communicator *known = gn_mpi_known(call->thread, comm);

	call->communicator = known ? known->number : GN_MPI_NONE;
}

/* Of a call that sends to a rank. */
static inline void gn_mpi_set_peer(struct gn_mpi_call *call, MPI_Comm comm, int rank)
{
	const struct gn_mpi_communicator *known = gn_mpi_known(call->thread, comm);

	call->communicator = known ? known->number : GN_MPI_NONE;
	call->peer = gn_mpi_world_rank(known, rank);
}

/* --- requests --------------------------------------------------------------------------------- */

static inline uint64_t gn_mpi_handle(MPI_Request request)
{
	uint64_t handle = 0;

	memcpy(&handle, &request, sizeof(request));
	return handle;
}

/* After gn_mpi_end() of what started it. */
static inline void gn_mpi_started(const struct gn_mpi_call *call, MPI_Request request,
				  uint32_t flags)
{
	if (request != MPI_REQUEST_NULL && call->site)
		gn_mpi_request_keep(call, gn_mpi_handle(request), flags);
}

/* Of one that was complete: `ticks` of the call that told so. */
static inline void gn_mpi_completed(const struct gn_mpi_call *call, MPI_Request request,
				    const MPI_Status *status, uint64_t ticks)
{
	struct gn_mpi_request known;

	if (request == MPI_REQUEST_NULL || !gn_mpi_request_take(gn_mpi_handle(request), &known))
		return;
	gn_mpi_complete(call, &known, ticks,
			known.flags & GN_MPI_RECEIVES ? gn_mpi_status_bytes(status) : 0);
}

/* --- begin and end of MPI --------------------------------------------------------------------- */

static inline void gn_mpi_up(struct gn_mpi_call *call)
{
	struct gn_mpi_header *header = gn_mpi_totals_header();
	char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	int length = 0;

	if (!header || header->up_ticks)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &header->rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &header->n_ranks);
	PMPI_Query_thread(&header->thread_level);
	if (header->thread_level == MPI_THREAD_MULTIPLE)
		gn_mpi_requests_share();
	PMPI_Get_library_version(library, &length);
	strncpy(header->library, library, sizeof(header->library) - 1);
	header->library[strcspn(header->library, "\n")] = 0;
	header->up_ticks = call->end;
	gn_mpi_meet_world(call->thread);
}

static inline void gn_mpi_down(const struct gn_mpi_call *call)
{
	struct gn_mpi_header *header = gn_mpi_totals_header();

	gn_mpi_all.is_up = 0;
	if (!header)
		return;
	header->down_ticks = call->begin;
	header->flags |= GN_MPI_FINALIZED;
}

#endif
