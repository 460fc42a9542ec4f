/* Which event of a plan a sample is of, by its PERF_SAMPLE_IDENTIFIER. */
#ifndef GNOMON_SAMPLING_EVENT_NUMBERS_H
#define GNOMON_SAMPLING_EVENT_NUMBERS_H

#include <stdint.h>

struct gn_event_number {
	uint64_t id;
	uint32_t event;
};

/* By `id`. */
struct gn_event_numbers {
	struct gn_event_number *number;
	uint32_t n, room;
};

/* Of an open event. 0 or a negative errno. */
int gn_event_numbers_add(struct gn_event_numbers *numbers, int fd, uint32_t event);

/* Whether there is an event with an identifier, and which. */
int gn_event_numbers_find(const struct gn_event_numbers *numbers, uint64_t id, uint32_t *event);

void gn_event_numbers_free(struct gn_event_numbers *numbers);

#endif
