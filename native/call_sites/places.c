#include "places.h"

#include <string.h>

#include "own_calls.h"
#include "stacks.h"

/* A frame whose size varies makes each size a place: of so many all are forgotten. */
#define PLACES_MAX 16384u
#define CHECKED_BYTES (PLACES_MAX * GN_FRAMES_CHECKED * sizeof(struct gn_checked_frame))

/* What is told apart of places. */
struct site {
	uint32_t hash;
	uint32_t routine, object, frame;
	union gn_totals_record *record;
};

void gn_places_forget(struct gn_site_thread *thread)
{
	struct gn_call_place *place = thread->places.entry;

	if (!thread->places.n)
		return;
	memset(place, 0, ((size_t)thread->places.mask + 1) * sizeof(*place));
	thread->places.n = 0;
	thread->n_checked = 0;
}

void gn_places_free(struct gn_site_thread *thread)
{
	gn_hash_table_free(&thread->places, sizeof(struct gn_call_place));
	gn_hash_table_free(&thread->sites, sizeof(struct site));
	gn_give_memory(thread->checked, CHECKED_BYTES);
	thread->checked = NULL;
	thread->n_checked = 0;
}

/* Room for what is checked of a place's callers; NULL without memory. */
static struct gn_checked_frame *checked_room(struct gn_site_thread *thread, uint32_t n)
{
	struct gn_checked_frame *room;

	if (!thread->checked)
		thread->checked = gn_take_memory(CHECKED_BYTES);
	if (!thread->checked)
		return NULL;
	room = thread->checked + thread->n_checked;
	thread->n_checked += n;
	return room;
}

struct gn_call_place gn_new_place(const struct gn_call_origin *origin, uint32_t hash)
{
	return (struct gn_call_place){
		.hash = hash,
		.object = origin->object,
		.return_address = origin->return_address,
		.frame = origin->frame,
		.routine = origin->routine,
		.detail_of = GN_NO_DETAIL,
		.python = origin->python,
	};
}

struct gn_call_place *gn_place_keep(struct gn_site_thread *thread,
				    const struct gn_call_place *place,
				    const struct gn_checked_frame *checked)
{
	struct gn_checked_frame *kept;
	struct gn_call_place *entries;
	uint32_t slot = place->hash;

	if (gn_hash_table_make_room(&thread->places, sizeof(*place)))
		return NULL;
	kept = checked_room(thread, place->n_checked);
	if (!kept)
		return NULL;
	memcpy(kept, checked, place->n_checked * sizeof(*checked));
	entries = thread->places.entry;
	while (entries[slot & thread->places.mask].hash)
		slot++;
	entries[slot & thread->places.mask] = *place;
	entries[slot & thread->places.mask].checked = kept;
	thread->places.n++;
	return &entries[slot & thread->places.mask];
}

struct gn_call_place *gn_place_add(struct gn_site_thread *thread,
				   const struct gn_call_origin *origin, uint32_t hash,
				   uint32_t object)
{
	struct gn_checked_frame checked[GN_FRAMES_CHECKED];
	struct gn_call_place place = gn_new_place(origin, hash);

	if (thread->places.n == PLACES_MAX)
		gn_places_forget(thread);
	place.site = gn_site_record(thread, origin->routine, object,
				    gn_stack_record(thread, &place, checked));
	return place.site ? gn_place_keep(thread, &place, checked) : NULL;
}

union gn_totals_record *gn_site_record(struct gn_site_thread *thread, uint32_t routine,
				       uint32_t object, uint32_t frame)
{
	const struct gn_site_record record = {
		.routine = (uint16_t)routine,
		.thread = thread->number,
		.object = object,
		.frame = frame,
	};
	const uint32_t hash = gn_hash_of((uint64_t)frame << 32 | object, routine);
	struct site *site;

	if (gn_hash_table_make_room(&thread->sites, sizeof(*site)))
		return NULL;
	for (uint32_t i = hash;; i++) {
		site = (struct site *)thread->sites.entry + (i & thread->sites.mask);
		if (!site->hash)
			break;
		if (site->routine == routine && site->object == object && site->frame == frame)
			return site->record;
	}
	site->record = gn_totals_add(&thread->chunk, GN_TOTALS_SITE, &record, sizeof(record));
	if (!site->record)
		return NULL;
	site->hash = hash;
	site->routine = routine;
	site->object = object;
	site->frame = frame;
	thread->sites.n++;
	return site->record;
}
