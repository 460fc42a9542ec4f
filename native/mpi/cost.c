#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "requests.h"

#define ROUNDS 9u
#define CALLS 100u
#define PLACES 3u
/* As many callers as programs have. */
#define CALLERS 8u

enum { MESSAGE, START, COMPLETION };

/* A thread that has nothing to do with others: its records are no part of the file. */
struct stand_in {
	union gn_totals_record own;
	struct gn_mpi_thread thread;
	union gn_totals_record record[GN_TOTALS_CHUNK_RECORDS];
	union gn_totals_record *size[PLACES * GN_MPI_CLASSES];
	uintptr_t stack[CALLERS];
};

static int know_place(struct stand_in *stand_in, const struct gn_mpi_call *call)
{
	struct gn_checked_frame checked[GN_FRAMES_CHECKED];
	const struct gn_call_origin origin = gn_mpi_origin(call);
	struct gn_call_place place = gn_new_place(&origin, gn_origin_hash(&origin));

	for (uint32_t i = 0; i < CALLERS; i++)
		checked[i] = (struct gn_checked_frame){(uintptr_t)&stand_in->stack[i], 0};
	place.n_checked = CALLERS;
	place.site = gn_site_record(&stand_in->thread.calls, call->routine, call->communicator, 0);
	return place.site && gn_place_keep(&stand_in->thread.calls, &place, checked);
}

static inline int begin(struct gn_mpi_call *call, uint32_t routine)
{
	return gn_mpi_begin(call, routine, (void *)gn_mpi_measure_cost,
			    (void *)gn_mpi_measure_cost);
}

static __attribute__((noinline)) void send_message(void)
{
	struct gn_mpi_call call;

	if (!begin(&call, MESSAGE))
		return;
	gn_mpi_stop(&call);
	call.communicator = 0;
	call.peer = 0;
	call.sent = 8;
	gn_mpi_end(&call);
}

static __attribute__((noinline)) void start_and_complete(void)
{
	const uint64_t handle = (uintptr_t)gn_mpi_measure_cost;
	struct gn_mpi_request request;
	struct gn_mpi_call call;

	if (!begin(&call, START))
		return;
	gn_mpi_stop(&call);
	call.communicator = 0;
	call.is_pending = 1;
	gn_mpi_end(&call);
	gn_mpi_request_keep(&call, handle, GN_MPI_RECEIVES);
	if (!begin(&call, COMPLETION))
		return;
	gn_mpi_stop(&call);
	if (gn_mpi_request_take(handle, &request, 0))
		gn_mpi_complete(&call, &request, call.end - call.begin, 8);
	gn_mpi_end(&call);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return (one > two) - (one < two);
}

/* Ticks that it takes, in the middle one of some rounds. */
static uint64_t ticks_of(void (*work)(void))
{
	uint64_t took[ROUNDS];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		const uint64_t begin = gn_bare_ticks(gn_mpi_uses_counter);

		for (uint32_t i = 0; i < CALLS; i++)
			work();
		took[round] = gn_bare_ticks(gn_mpi_uses_counter) - begin;
	}
	qsort(took, ROUNDS, sizeof(*took), ascending);
	return (took[ROUNDS / 2] + CALLS / 2) / CALLS;
}

static void free_tables(struct gn_mpi_thread *thread)
{
	gn_places_free(&thread->calls);
	gn_mpi_peers_free(thread);
}

void gn_mpi_measure_cost(struct gn_totals_header *header)
{
	struct stand_in *stand_in = calloc(1, sizeof(*stand_in));
	struct gn_mpi_thread *own = gn_mpi_here;
	struct gn_mpi_call call = {0};
	int is_ready = 1;
	uint64_t both;

	if (!stand_in)
		return;
	stand_in->thread.calls.record = &stand_in->own;
	stand_in->thread.size = stand_in->size;
	stand_in->thread.calls.chunk =
		(struct gn_totals_chunk){stand_in->record, GN_TOTALS_CHUNK_RECORDS};
	gn_mpi_here = &stand_in->thread;
	for (uint32_t routine = MESSAGE; is_ready && routine < PLACES; routine++) {
		begin(&call, routine);
		call.communicator = routine == COMPLETION ? GN_TOTALS_NONE : 0;
		is_ready = know_place(stand_in, &call);
		stand_in->thread.frame = 0;
	}
	if (is_ready) {
		header->cost_ticks_call = ticks_of(send_message);
		both = ticks_of(start_and_complete);
		if (both > 2 * header->cost_ticks_call)
			header->cost_ticks_nonblocking = both - 2 * header->cost_ticks_call;
	}
	gn_mpi_here = own;
	free_tables(&stand_in->thread);
	free(stand_in);
}
