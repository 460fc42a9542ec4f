/*
 * The places that calls come from: a routine, what it is called with (a communicator, a file), and
 * a call stack.
 */
#ifndef GNOMON_PLACES_H
#define GNOMON_PLACES_H

#include "hash_table.h"
#include "python_frames.h"
#include "totals_file.h"

/* Frames whose return addresses must be the same for a place to be the same. */
#define GN_FRAMES_CHECKED 16u

#define GN_NO_DETAIL INT32_MIN

struct gn_checked_frame {
	uintptr_t slot, address;
};

/* What a thread keeps of its calls. */
struct gn_site_thread {
	uint32_t number;
	union gn_totals_record *record;
	struct gn_totals_chunk chunk;
	uintptr_t stack_begin, stack_end;
	struct gn_hash_table places;	  /* stacks that calls came from */
	struct gn_hash_table sites;	  /* what is told apart of these */
	struct gn_checked_frame *checked; /* of all places; NULL: no memory yet */
	uint32_t n_checked;
	struct gn_site_thread *next_idle;
};

/* Where a call comes from, and what it is called with. */
struct gn_call_origin {
	uintptr_t return_address, frame;
	uint32_t routine;
	uint32_t object; /* its number; GN_TOTALS_NONE */
	uint32_t python; /* which Python functions it comes from; 0 where there are none */
};

/*
 * A stack is known again by its return address and the address of its frame, and by the return
 * addresses of its callers, each where it lay when the stack was unwound: two callers with frames
 * of one size differ in these alone. An entry of a table: 64 bytes, which are a cache line.
 */
struct gn_call_place {
	uint32_t hash;
	uint32_t object;
	uintptr_t return_address, frame;
	uint32_t routine;
	uint32_t n_checked;
	const struct gn_checked_frame *checked;
	union gn_totals_record *site;
	/* A further record of the site, of what was last told apart there (a receiver, a size). */
	union gn_totals_record *detail;
	int32_t detail_of;
	uint32_t python; /* as a call has it */
};

_Static_assert(sizeof(struct gn_call_place) == 64, "a place is a cache line");

void gn_places_forget(struct gn_site_thread *thread);

/* With their memory, and the sites. */
void gn_places_free(struct gn_site_thread *thread);

/* That of a call whose site and stack are not known yet. */
struct gn_call_place gn_new_place(const struct gn_call_origin *origin, uint32_t hash);

/* The entry that it becomes, with what is `checked` of its callers; NULL without memory. */
struct gn_call_place *gn_place_keep(struct gn_site_thread *thread,
				    const struct gn_call_place *place,
				    const struct gn_checked_frame *checked);

/* That of a call, which is not among those that are known; NULL without memory. Its first site is
 * of the `object`. */
struct gn_call_place *gn_place_add(struct gn_site_thread *thread,
				   const struct gn_call_origin *origin, uint32_t hash,
				   uint32_t object);

/* A thread's own record of a site, of which another thread may have one; NULL without memory. */
union gn_totals_record *gn_site_record(struct gn_site_thread *thread, uint32_t routine,
				       uint32_t object, uint32_t frame);

/* The stack below the call is that of the place: words of it that may be no variable's now. */
static inline __attribute__((no_sanitize_address)) int
gn_place_has_callers(const struct gn_call_place *place)
{
	for (uint32_t i = 0; i < place->n_checked; i++)
		if (*(const uintptr_t *)place->checked[i].slot != place->checked[i].address)
			return 0;
	return 1;
}

static inline uint32_t gn_origin_hash(const struct gn_call_origin *origin)
{
	return gn_hash_of(origin->return_address + ((uint64_t)origin->routine << 40),
			  (origin->frame >> 4) + ((uint64_t)origin->object << 8) +
				  ((uint64_t)origin->python << 32));
}

/* The place that a call comes from, until the next one is added; NULL: it is not known yet. */
static inline struct gn_call_place *gn_place_find(const struct gn_site_thread *thread,
						  const struct gn_call_origin *origin,
						  uint32_t hash)
{
	const struct gn_hash_table *places = &thread->places;
	struct gn_call_place *place = places->entry;

	for (uint32_t i = hash; place; i++) {
		place = (struct gn_call_place *)places->entry + (i & places->mask);
		if (!place->hash)
			break;
		if (place->hash == hash && place->return_address == origin->return_address &&
		    place->frame == origin->frame && place->routine == origin->routine &&
		    place->object == origin->object && place->python == origin->python &&
		    gn_place_has_callers(place))
			return place;
	}
	return NULL;
}

/* The same; NULL without memory. */
static inline struct gn_call_place *gn_place_of(struct gn_site_thread *thread,
						const struct gn_call_origin *origin)
{
	const uint32_t hash = gn_origin_hash(origin);
	struct gn_call_place *place = gn_place_find(thread, origin, hash);

	return place ? place : gn_place_add(thread, origin, hash, origin->object);
}

#endif
