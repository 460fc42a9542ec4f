#include "event_numbers.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define ROOM_FIRST 64u

/* The place of the first number that is not below an id. */
static uint32_t place_of(const struct gn_event_numbers *numbers, uint64_t id)
{
	uint32_t low = 0, high = numbers->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (numbers->number[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int gn_event_numbers_find(const struct gn_event_numbers *numbers, uint64_t id, uint32_t *event)
{
	const uint32_t place = place_of(numbers, id);

	if (place == numbers->n || numbers->number[place].id != id)
		return 0;
	*event = numbers->number[place].event;
	return 1;
}

int gn_event_numbers_add(struct gn_event_numbers *numbers, int fd, uint32_t event)
{
	uint32_t place;
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -errno;
	if (numbers->n == numbers->room) {
		const uint32_t room = numbers->room ? 2 * numbers->room : ROOM_FIRST;
		void *larger = realloc(numbers->number, room * sizeof(*numbers->number));

		if (!larger)
			return -ENOMEM;
		numbers->number = larger;
		numbers->room = room;
	}
	/* Identifiers grow: most come last. */
	place = place_of(numbers, id);
	memmove(&numbers->number[place + 1], &numbers->number[place],
		(numbers->n - place) * sizeof(*numbers->number));
	numbers->number[place] = (struct gn_event_number){.id = id, .event = event};
	numbers->n++;
	return 0;
}

void gn_event_numbers_free(struct gn_event_numbers *numbers)
{
	free(numbers->number);
	memset(numbers, 0, sizeof(*numbers));
}
