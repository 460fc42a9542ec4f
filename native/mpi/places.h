/* The places that calls come from: a routine, a communicator, and a call stack. */
#ifndef GNOMON_MPI_PLACES_H
#define GNOMON_MPI_PLACES_H

#include "profile.h"

struct gn_mpi_checked {
	uintptr_t slot, address;
};

/*
 * A stack is known again by its return address and the address of its frame, and by the return
 * addresses of its callers, each where it lay when the stack was unwound: two callers with frames
 * of one size differ in these alone. An entry of a table: 64 bytes, which are a cache line.
 */
struct gn_mpi_place {
	uint32_t hash;
	uint32_t communicator;
	uintptr_t return_address, frame;
	uint32_t routine;
	uint32_t n_checked;
	const struct gn_mpi_checked *checked;
	union gn_mpi_record *site;
	union gn_mpi_record *messages; /* of the rank that was sent to last; NULL: to none */
	int32_t peer;		       /* that rank */
	uint32_t python;	       /* as a call has it */
};

_Static_assert(sizeof(struct gn_mpi_place) == 64, "a place is a cache line");

void gn_mpi_places_forget(struct gn_mpi_thread *thread);

/* That of a call whose site and stack are not known yet. */
struct gn_mpi_place gn_mpi_new_place(const struct gn_mpi_call *call, uint32_t hash);

/* The entry that it becomes, with what is `checked` of its callers; NULL without memory. */
struct gn_mpi_place *gn_mpi_place_keep(struct gn_mpi_thread *thread,
				       const struct gn_mpi_place *place,
				       const struct gn_mpi_checked *checked);

/* That of a call, which is not among those that are known; NULL without memory. */
struct gn_mpi_place *gn_mpi_place_add(const struct gn_mpi_call *call, uint32_t hash);

/* A thread's own record of a site, of which another thread may have one; NULL without memory. */
union gn_mpi_record *gn_mpi_site_record(struct gn_mpi_thread *thread, uint32_t routine,
					uint32_t communicator, uint32_t frame);

/* The stack of the caller, as records of frames; the innermost one's number. `place` has room for
 * what is `checked` of GN_MPI_FRAMES_CHECKED callers. */
uint32_t gn_mpi_stack_record(struct gn_mpi_thread *thread, struct gn_mpi_place *place,
			     struct gn_mpi_checked *checked);

/* The stack below the call is that of the place. */
static inline int gn_mpi_has_callers(const struct gn_mpi_place *place)
{
	for (uint32_t i = 0; i < place->n_checked; i++)
		if (*(const uintptr_t *)place->checked[i].slot != place->checked[i].address)
			return 0;
	return 1;
}

static inline uint32_t gn_mpi_hash_of_call(const struct gn_mpi_call *call)
{
	return gn_mpi_hash(call->return_address + ((uint64_t)call->routine << 40),
			   (call->frame >> 4) + ((uint64_t)call->communicator << 8) +
				   ((uint64_t)call->python << 32));
}

/* The place that a call comes from, until the next one is added; NULL without memory. */
static inline struct gn_mpi_place *gn_mpi_place_of_call(const struct gn_mpi_call *call)
{
	const struct gn_mpi_table *places = &call->thread->places;
	const uint32_t hash = gn_mpi_hash_of_call(call);
	struct gn_mpi_place *place = places->entry;

	for (uint32_t i = hash; place; i++) {
		place = (struct gn_mpi_place *)places->entry + (i & places->mask);
		if (!place->hash)
			break;
		if (place->hash == hash && place->return_address == call->return_address &&
		    place->frame == call->frame && place->routine == call->routine &&
		    place->communicator == call->communicator && place->python == call->python &&
		    gn_mpi_has_callers(place))
			return place;
	}
	return gn_mpi_place_add(call, hash);
}

#endif
