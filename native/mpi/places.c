#include "places.h"

#include <stdlib.h>
#include <string.h>

/* A frame whose size varies makes each size a place: of so many all are forgotten. */
#define PLACES_MAX 16384u

/* What is told apart of places. */
struct site {
	uint32_t hash;
	uint32_t routine, communicator, frame;
	union gn_mpi_record *record;
};

void gn_mpi_places_forget(struct gn_mpi_thread *thread)
{
	struct gn_mpi_place *place = thread->places.entry;

	if (!thread->places.n)
		return;
	for (uint32_t i = 0; i <= thread->places.mask; i++)
		free((void *)place[i].checked);
	memset(place, 0, ((size_t)thread->places.mask + 1) * sizeof(*place));
	thread->places.n = 0;
}

struct gn_mpi_place gn_mpi_new_place(const struct gn_mpi_call *call, uint32_t hash)
{
	return (struct gn_mpi_place){
		.hash = hash,
		.communicator = call->communicator,
		.return_address = call->return_address,
		.frame = call->frame,
		.routine = call->routine,
		.peer = GN_MPI_NO_PEER,
		.python = call->python,
	};
}

struct gn_mpi_place *gn_mpi_place_keep(struct gn_mpi_thread *thread,
				       const struct gn_mpi_place *place,
				       const struct gn_mpi_checked *checked)
{
	const size_t bytes = place->n_checked * sizeof(*checked);
	struct gn_mpi_checked *kept = bytes ? malloc(bytes) : NULL;
	struct gn_mpi_place *entries;
	uint32_t slot = place->hash;

	if ((bytes && !kept) || gn_mpi_table_make_room(&thread->places, sizeof(*place))) {
		free(kept);
		return NULL;
	}
	if (bytes)
		memcpy(kept, checked, bytes);
	entries = thread->places.entry;
	while (entries[slot & thread->places.mask].hash)
		slot++;
	entries[slot & thread->places.mask] = *place;
	entries[slot & thread->places.mask].checked = kept;
	thread->places.n++;
	return &entries[slot & thread->places.mask];
}

struct gn_mpi_place *gn_mpi_place_add(const struct gn_mpi_call *call, uint32_t hash)
{
	struct gn_mpi_thread *thread = call->thread;
	struct gn_mpi_checked checked[GN_MPI_FRAMES_CHECKED];
	struct gn_mpi_place place = gn_mpi_new_place(call, hash);

	if (thread->places.n == PLACES_MAX)
		gn_mpi_places_forget(thread);
	place.site = gn_mpi_site_record(thread, call->routine, call->communicator,
					gn_mpi_stack_record(thread, &place, checked));
	return place.site ? gn_mpi_place_keep(thread, &place, checked) : NULL;
}

union gn_mpi_record *gn_mpi_site_record(struct gn_mpi_thread *thread, uint32_t routine,
					uint32_t communicator, uint32_t frame)
{
	const struct gn_mpi_site_record record = {
		.routine = (uint16_t)routine,
		.thread = thread->number,
		.communicator = communicator,
		.frame = frame,
	};
	const uint32_t hash = gn_mpi_hash((uint64_t)frame << 32 | communicator, routine);
	struct site *site;

	if (gn_mpi_table_make_room(&thread->sites, sizeof(*site)))
		return NULL;
	for (uint32_t i = hash;; i++) {
		site = (struct site *)thread->sites.entry + (i & thread->sites.mask);
		if (!site->hash)
			break;
		if (site->routine == routine && site->communicator == communicator &&
		    site->frame == frame)
			return site->record;
	}
	site->record = gn_mpi_totals_add(&thread->chunk, GN_MPI_SITE, &record, sizeof(record));
	if (!site->record)
		return NULL;
	site->hash = hash;
	site->routine = routine;
	site->communicator = communicator;
	site->frame = frame;
	thread->sites.n++;
	return site->record;
}
