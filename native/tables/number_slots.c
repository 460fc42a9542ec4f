#include "number_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SLOTS_LEAST = 256, ROOM_LEAST = 64 };

static void choose_seeds(struct gn_slots *slots)
{
	const size_t n = sizeof(slots->seeds);

	if (getrandom(slots->seeds, n, GRND_NONBLOCK) == (ssize_t)n)
		return;
	/* The machine has just begun: where the loader has put the stack is the best there is. */
	slots->seeds[0] = (uint64_t)(uintptr_t)&n * 0x9e3779b97f4a7c15u;
	slots->seeds[1] = (uint64_t)(uintptr_t)&n * 0xd6e8feb86659fd93u;
}

int gn_slots_begin(struct gn_slots *slots)
{
	if (slots->n_slots)
		return 0;
	slots->slot = calloc(SLOTS_LEAST, sizeof(*slots->slot));
	if (!slots->slot)
		return -ENOMEM;
	slots->n_slots = SLOTS_LEAST;
	choose_seeds(slots);
	return 0;
}

static int with_more_slots(struct gn_slots *slots)
{
	const uint32_t n_slots = 2 * slots->n_slots;
	struct gn_slot *more;

	if (slots->n_slots > UINT32_MAX / 4)
		return -ENOMEM;
	more = calloc(n_slots, sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots->n_slots; i++) {
		uint32_t at = slots->slot[i].hash & (n_slots - 1);

		if (!slots->slot[i].number)
			continue;
		while (more[at].number)
			at = (at + 1) & (n_slots - 1);
		more[at] = slots->slot[i];
	}
	free(slots->slot);
	slots->slot = more;
	slots->n_slots = n_slots;
	return 0;
}

int64_t gn_slots_put(struct gn_slots *slots, struct gn_slot *slot, uint32_t hash, uint32_t number)
{
	*slot = (struct gn_slot){hash, number + 1};
	if (++slots->n <= slots->n_slots / 4 * 3 || !with_more_slots(slots))
		return number;
	slots->n--;
	slot->number = 0;
	return -ENOMEM;
}

void gn_slots_free(struct gn_slots *slots)
{
	free(slots->slot);
	*slots = (struct gn_slots){0};
}

void *gn_with_room(void *array, uint32_t n, uint32_t *room, size_t element_bytes)
{
	uint32_t more = *room;
	void *grown;

	if (n < *room)
		return array;
	if (*room > UINT32_MAX / 2)
		return NULL;
	more = *room < ROOM_LEAST ? ROOM_LEAST : *room + *room / 2;
	grown = realloc(array, more * element_bytes);
	if (grown)
		*room = more;
	return grown;
}
