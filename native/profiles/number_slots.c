#include "number_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SLOTS_LEAST = 256, ROOM_LEAST = 64 };

static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
	return seed;
}

int gn_slots_begin(struct gn_slots *slots)
{
	if (slots->n_slots)
		return 0;
	slots->numbers = calloc(SLOTS_LEAST, sizeof(*slots->numbers));
	if (!slots->numbers)
		return -ENOMEM;
	slots->n_slots = SLOTS_LEAST;
	slots->seed = random_seed();
	return 0;
}

static int with_more_slots(struct gn_slots *slots,
			   uint64_t (*hash_of)(const void *table, uint32_t number),
			   const void *table)
{
	const uint32_t n_slots = 2 * slots->n_slots;
	uint32_t *numbers;

	if (slots->n_slots > UINT32_MAX / 4)
		return -ENOMEM;
	numbers = calloc(n_slots, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots->n; i++) {
		uint32_t at = (uint32_t)hash_of(table, i) & (n_slots - 1);

		while (numbers[at])
			at = (at + 1) & (n_slots - 1);
		numbers[at] = i + 1;
	}
	free(slots->numbers);
	slots->numbers = numbers;
	slots->n_slots = n_slots;
	return 0;
}

int64_t gn_slots_number(struct gn_slots *slots, uint32_t *slot,
			uint64_t (*hash_of)(const void *table, uint32_t number), const void *table)
{
	*slot = ++slots->n;
	if (slots->n > slots->n_slots / 4 * 3 && with_more_slots(slots, hash_of, table) < 0) {
		slots->n--;
		*slot = 0;
		return -ENOMEM;
	}
	return slots->n - 1;
}

void gn_slots_free(struct gn_slots *slots)
{
	free(slots->numbers);
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
