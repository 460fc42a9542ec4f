#include "places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_FIRST 64u
/* A frame whose size varies makes each size a place: of so many all are forgotten. */
#define PLACES_MAX 16384u

static uint32_t hash_of(const struct gn_mpi_call *call)
{
	uint64_t hash = call->return_address * 0x9e3779b97f4a7c15u;

	hash ^= (call->frame >> 4) * 0xc2b2ae3d27d4eb4fu;
	hash ^= (uint64_t)(call->communicator + 1) * 0x165667b19e3779f9u;
	hash ^= (uint64_t)call->routine << 48;
	return (uint32_t)(hash >> 32);
}

static inline int is_of(const struct gn_mpi_place *place, const struct gn_mpi_call *call,
			uint32_t hash)
{
	return place->hash == hash && place->return_address == call->return_address &&
	       place->frame == call->frame && place->routine == call->routine &&
	       place->communicator == call->communicator && gn_stack_has(&place->callers);
}

static int grow_places(struct gn_mpi_thread *thread)
{
	const uint32_t n = thread->place ? 2 * (thread->places_mask + 1) : TABLE_FIRST;
	struct gn_mpi_place **larger = calloc(n, sizeof(struct gn_mpi_place *));

	if (!larger)
		return -ENOMEM;
	for (uint32_t i = 0; thread->place && i <= thread->places_mask; i++) {
		struct gn_mpi_place *place = thread->place[i];
		uint32_t slot = place ? place->hash : 0;

		while (place && larger[slot & (n - 1)])
			slot++;
		if (place)
			larger[slot & (n - 1)] = place;
	}
	free(thread->place);
	thread->place = larger;
	thread->places_mask = n - 1;
	return 0;
}

void gn_mpi_places_forget(struct gn_mpi_thread *thread)
{
	for (uint32_t i = 0; thread->place && i <= thread->places_mask; i++) {
		free(thread->place[i]);
		thread->place[i] = NULL;
	}
	thread->n_places = 0;
}

/* Where a stack is not known yet; the site may be. */
static union gn_mpi_record *add_place(const struct gn_mpi_call *call, uint32_t hash)
{
	struct gn_mpi_thread *thread = call->thread;
	struct gn_mpi_place *place;
	uint32_t slot = hash;

	if (thread->n_places == PLACES_MAX)
		gn_mpi_places_forget(thread);
	if ((!thread->place || 2 * thread->n_places > thread->places_mask) && grow_places(thread))
		return NULL;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->return_address = call->return_address;
	place->frame = call->frame;
	place->routine = call->routine;
	place->communicator = call->communicator;
	place->hash = hash;
	place->site = gn_mpi_site_record(thread, call->routine, call->communicator,
					 gn_mpi_stack_record(thread, place));
	if (!place->site) {
		free(place);
		return NULL;
	}
	while (thread->place[slot & thread->places_mask])
		slot++;
	thread->place[slot & thread->places_mask] = place;
	thread->n_places++;
	return place->site;
}

union gn_mpi_record *gn_mpi_site_of_call(const struct gn_mpi_call *call)
{
	const struct gn_mpi_thread *thread = call->thread;
	const uint32_t hash = hash_of(call);

	for (uint32_t i = hash; thread->place; i++) {
		const struct gn_mpi_place *place = thread->place[i & thread->places_mask];

		if (!place)
			break;
		if (is_of(place, call, hash))
			return place->site;
	}
	return add_place(call, hash);
}

/* --- sites ------------------------------------------------------------------------------------ */

static struct gn_mpi_site *find_site(const struct gn_mpi_thread *thread, uint32_t routine,
				     uint32_t communicator, uint32_t frame)
{
	const uint64_t hash = ((uint64_t)frame << 32 | communicator) * 0x9e3779b97f4a7c15u +
			      routine * 0xc2b2ae3d27d4eb4fu;
	uint32_t i = (uint32_t)(hash >> 32) & thread->sites_mask;

	while (thread->site[i].record &&
	       (thread->site[i].routine != routine ||
		thread->site[i].communicator != communicator || thread->site[i].frame != frame))
		i = (i + 1) & thread->sites_mask;
	return &thread->site[i];
}

static int grow_sites(struct gn_mpi_thread *thread)
{
	struct gn_mpi_site *before = thread->site;
	const uint32_t n_before = before ? thread->sites_mask + 1 : 0;
	const uint32_t n = before ? 2 * n_before : TABLE_FIRST;

	thread->site = calloc(n, sizeof(*thread->site));
	if (!thread->site) {
		thread->site = before;
		return -ENOMEM;
	}
	thread->sites_mask = n - 1;
	for (uint32_t i = 0; i < n_before; i++)
		if (before[i].record)
			*find_site(thread, before[i].routine, before[i].communicator,
				   before[i].frame) = before[i];
	free(before);
	return 0;
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
	struct gn_mpi_site *site;

	if ((!thread->site || 2 * thread->n_sites > thread->sites_mask) && grow_sites(thread))
		return NULL;
	site = find_site(thread, routine, communicator, frame);
	if (site->record)
		return site->record;
	*site = (struct gn_mpi_site){routine, communicator, frame, NULL};
	site->record = gn_mpi_totals_add(&thread->chunk, GN_MPI_SITE, &record, sizeof(record));
	thread->n_sites += !!site->record;
	return site->record;
}
