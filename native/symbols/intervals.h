/*
 * Ranges of addresses, possibly one in another, and the innermost that holds an address.
 */
#pragma once

#include "memory.h"

#include <stdbool.h>

struct gn_interval {
	uint64_t start, end;
	uint64_t end_max; /* of this and all before it */
	uint32_t value;
};

struct gn_intervals {
	struct gn_vector of; /* struct gn_interval */
};

void gn_intervals_add(struct gn_intervals *intervals, uint64_t start, uint64_t end, uint32_t value);

/* Needed once, between adding and finding. Of equal starts the order of adding is kept. */
void gn_intervals_sort(struct gn_intervals *intervals);

/* The interval with the last start that holds the address, NULL if none does. */
const struct gn_interval *gn_intervals_find(const struct gn_intervals *intervals, uint64_t address);
void gn_intervals_free(struct gn_intervals *intervals);
