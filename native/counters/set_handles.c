/*
 * Handles. A handle is a slot's index (16 bits) and how often the slot was used (15 bits). Slots
 * are used again oldest first and only once a thousand others were, so that a dead handle stays
 * dead for some thirty million sets. Finding a set takes no lock.
 */
#include <stdlib.h>

#include "sets.h"

#define SLOTS 1024u
#define CHUNKS 64u
#define INDEX_BITS 16
#define USES_MAX 0x7fff

struct slot {
	_Atomic gn_set handle; /* 0: no set */
	int uses;
	uint32_t next_free;
	struct gn_event_set *set;
};

static struct slot *_Atomic chunks[CHUNKS];
static uint32_t n_slots; /* that were ever used */

static struct slot *slot_of(uint32_t index)
{
	struct slot *chunk = atomic_load_explicit(&chunks[index / SLOTS], memory_order_acquire);

	return chunk ? &chunk[index % SLOTS] : NULL;
}

struct gn_event_set *gn_set_find(gn_set handle)
{
	struct slot *slot = handle > 0 ? slot_of((uint32_t)handle & 0xffff) : NULL;

	if (!slot || atomic_load_explicit(&slot->handle, memory_order_acquire) != handle)
		return NULL;
	return slot->set;
}

static int no_set(gn_set handle, const struct gn_event_set *set)
{
	if (set)
		return gn_fail(GN_ENOEVST,
			       "event set %d: it belongs to the process that forked this one; make "
			       "a set in the child (gn_set_create)",
			       handle);
	return gn_fail(GN_ENOEVST,
		       "event set %d: there is none of this number (any more); make one with "
		       "gn_set_create",
		       handle);
}

struct gn_event_set *gn_set_use(gn_set handle)
{
	struct gn_event_set *set = gn_set_find(handle);

	if (set && set->epoch == gn_epoch())
		return set;
	no_set(handle, set);
	return NULL;
}

/* The index of a slot that is free now, SLOTS * CHUNKS if none is. */
static uint32_t take_slot(struct gn_process *process)
{
	const uint32_t oldest = process->first_free;

	/* New ones first, a chunk at a time. */
	if ((n_slots % SLOTS || !oldest) && n_slots < SLOTS * CHUNKS) {
		if (!slot_of(n_slots)) {
			struct slot *chunk = calloc(SLOTS, sizeof(*chunk));

			if (!chunk)
				return SLOTS * CHUNKS;
			atomic_store_explicit(&chunks[n_slots / SLOTS], chunk,
					      memory_order_release);
		}
		return n_slots++;
	}
	if (!oldest)
		return SLOTS * CHUNKS;
	process->first_free = slot_of(oldest - 1)->next_free;
	if (!process->first_free)
		process->last_free = 0;
	return oldest - 1;
}

int gn_set_publish(struct gn_event_set *set)
{
	struct gn_process *process = gn_process();
	struct slot *slot;
	uint32_t index;

	pthread_mutex_lock(&process->lock);
	index = take_slot(process);
	pthread_mutex_unlock(&process->lock);
	if (index == SLOTS * CHUNKS)
		return gn_fail(GN_ECOUNT, "event set: %u sets are there, no more fit; destroy some",
			       SLOTS * CHUNKS);
	slot = slot_of(index);
	slot->uses = slot->uses % USES_MAX + 1;
	slot->set = set;
	set->handle = (gn_set)((uint32_t)slot->uses << INDEX_BITS | index);
	atomic_store_explicit(&slot->handle, set->handle, memory_order_release);
	return GN_OK;
}

void gn_set_withdraw(struct gn_event_set *set)
{
	struct gn_process *process = gn_process();
	const uint32_t index = (uint32_t)set->handle & 0xffff;
	struct slot *slot = slot_of(index);

	pthread_mutex_lock(&process->lock);
	atomic_store_explicit(&slot->handle, 0, memory_order_release);
	slot->set = NULL;
	slot->next_free = 0;
	if (process->last_free)
		slot_of(process->last_free - 1)->next_free = index + 1;
	else
		process->first_free = index + 1;
	process->last_free = index + 1;
	pthread_mutex_unlock(&process->lock);
}
