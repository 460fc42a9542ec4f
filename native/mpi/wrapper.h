/*
 * What generated wrappers are made of (gnomon/mpi/wrapper_source.py): the parts of the profile that
 * an MPI's own header is needed for. Included once, by them.
 */
#ifndef GNOMON_MPI_WRAPPER_H
#define GNOMON_MPI_WRAPPER_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "cost.h"
#include "data_sizes.h"
#include "profile.h"
#include "requests.h"

#ifdef GN_MPI_TRACE
#include "trace/wrapper_trace.h"
#else
#define gn_trace_load() (void)0
#define gn_trace_begin() (void)0
#define gn_trace_end(routine) (void)(routine)
#endif

/* Whether a barrier before each collective operation tells how long ranks wait for the last. */
static int gn_mpi_has_barriers;

__attribute__((constructor)) static void gn_mpi_load(void)
{
	const char *barriers = getenv("GNOMON_MPI_BARRIER");

	gn_mpi_has_barriers = barriers && !strcmp(barriers, "1");
	gn_mpi_profile_begin(gn_mpi_names, GN_MPI_ROUTINES);
	gn_trace_load();
}

/* --- what a call was about -------------------------------------------------------------------- */

GN_MPI_INLINE void gn_mpi_set_communicator(struct gn_mpi_call *call, MPI_Comm comm)
{
	const struct gn_mpi_communicator *known = gn_mpi_known(call->thread, comm);

	call->communicator = known ? known->number : GN_TOTALS_NONE;
}

/* Of a call that sends to a rank. */
GN_MPI_INLINE void gn_mpi_set_peer(struct gn_mpi_call *call, MPI_Comm comm, int rank)
{
	const struct gn_mpi_communicator *known = gn_mpi_known(call->thread, comm);

	call->communicator = known ? known->number : GN_TOTALS_NONE;
	call->peer = gn_mpi_world_rank(known, rank);
}

/*
 * Until all ranks have come to a collective operation, where that is asked for: ticks, 0 if there
 * is nothing to wait for. All ranks of a communicator have to ask for it. Not for an
 * inter-communicator, where one group of an operation need not call it.
 */
static inline uint64_t gn_mpi_wait_for_all(const struct gn_mpi_call *call, MPI_Comm comm)
{
	const struct gn_mpi_communicator *known;
	uint64_t begin;

	if (!gn_mpi_has_barriers)
		return 0;
	known = gn_mpi_known(call->thread, comm);
	if (!known || !known->has_others)
		return 0;
	begin = gn_bare_ticks(gn_mpi_uses_counter);
	PMPI_Barrier(comm);
	return gn_bare_ticks(gn_mpi_uses_counter) - begin;
}

/* --- requests --------------------------------------------------------------------------------- */

static inline uint64_t gn_mpi_handle(MPI_Request request)
{
	uint64_t handle = 0;

	memcpy(&handle, &request, sizeof(request));
	return handle;
}

/* After gn_mpi_end() of what made it. */
static inline void gn_mpi_start(const struct gn_mpi_call *call, const MPI_Request *request,
				uint32_t flags)
{
	if (*request != MPI_REQUEST_NULL && call->site)
		gn_mpi_request_keep(call, gn_mpi_handle(*request), flags);
}

static inline void gn_mpi_started(const struct gn_mpi_call *call, const MPI_Request *request)
{
	gn_mpi_request_start(call, gn_mpi_handle(*request));
}

/* NULL, as below, is an error that MPI has to tell of. */
static inline void gn_mpi_freed(const struct gn_mpi_call *call, const MPI_Request *request)
{
	(void)call;
	if (request)
		gn_mpi_request_forget(gn_mpi_handle(*request));
}

/* MPI sets requests that are complete to MPI_REQUEST_NULL: they are noted before. */
static inline void gn_mpi_before_completion(struct gn_mpi_call *call, int n,
					    const MPI_Request *requests)
{
	uint64_t *handle = &call->handle;

	if (n != 1)
		handle = gn_mpi_thread_handles(call->thread, n);
	for (int i = 0; handle && i < n; i++)
		handle[i] = gn_mpi_handle(requests ? requests[i] : MPI_REQUEST_NULL);
	if (gn_mpi_requests_are_shared && handle)
		gn_mpi_requests_take_ahead(call->thread, handle, n);
}

static inline void gn_mpi_tell_completed(const struct gn_mpi_call *call,
					 const struct gn_mpi_request *known,
					 const MPI_Status *status, int n_completed)
{
	gn_mpi_complete(call, known, (call->end - call->begin) / (uint64_t)n_completed,
			known->flags & GN_MPI_RECEIVES ? gn_mpi_came(status) : 0);
}

/* Of `n` requests so many are complete: those at `indices`, or all but what MPI says is pending
 * because another one failed, whose status says nothing else. */
static inline void gn_mpi_completed(const struct gn_mpi_call *call, int n,
				    const MPI_Request *requests, const MPI_Status *statuses,
				    const int *indices, int n_completed, int result)
{
	const uint64_t none = gn_mpi_handle(MPI_REQUEST_NULL);
	const uint64_t *handle = n == 1 ? &call->handle : call->thread->handle;
	struct gn_mpi_request *taken = gn_mpi_requests_are_shared ? call->thread->taken : NULL;

	(void)requests;
	for (int i = 0; handle && i < n_completed; i++) {
		const int number = indices ? indices[i] : i;
		const MPI_Status *status = statuses ? &statuses[i] : NULL;
		struct gn_mpi_request known;

		if (result == MPI_ERR_IN_STATUS && status && status->MPI_ERROR == MPI_ERR_PENDING)
			continue;
		if (taken && taken[number].site) {
			gn_mpi_tell_completed(call, &taken[number], status, n_completed);
			taken[number].site = NULL;
		} else if (handle[number] != none &&
			   gn_mpi_request_take(handle[number], &known, taken != NULL)) {
			gn_mpi_tell_completed(call, &known, status, n_completed);
		}
	}
	for (int i = 0; taken && handle && i < n; i++)
		if (taken[i].site)
			gn_mpi_request_put_back(&taken[i]);
}

/* --- begin and end of MPI --------------------------------------------------------------------- */

static inline void gn_mpi_up(struct gn_mpi_call *call)
{
	struct gn_totals_header *header = gn_totals_header();
	char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	MPI_Comm parent = MPI_COMM_NULL;
	int length = 0;

	if (!header || header->up_ticks)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &header->rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &header->n_ranks);
	if (PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL)
		header->flags |= GN_TOTALS_SPAWNED;
	PMPI_Query_thread(&header->thread_level);
	gn_mpi_requests_are_shared = header->thread_level == MPI_THREAD_MULTIPLE;
	PMPI_Get_library_version(library, &length);
	library[strcspn(library, "\n")] = 0;
	snprintf(header->library, sizeof(header->library), "%.255s", library);
	header->up_ticks = call->end;
	gn_mpi_learn_sizes();
	gn_mpi_measure_cost(header);
	gn_mpi_meet_world(call->thread);
	gn_trace_begin();
}

static inline void gn_mpi_down(const struct gn_mpi_call *call)
{
	struct gn_totals_header *header = gn_totals_header();

	if (header) {
		header->down_ticks = call->begin;
		if (call->routine == GN_MPI_ID_Finalize)
			header->flags |= GN_TOTALS_FINALIZED;
	}
	gn_trace_end(call->routine);
	gn_mpi_all.is_up = 0;
}

#endif
