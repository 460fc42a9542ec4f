#include "group_values.h"

#include <errno.h>
#include <stdlib.h>

struct gn_group_values {
	struct gn_group_values *next;
	uint64_t leader; /* its identifier: a leader of each CPU has one */
	uint32_t n;
	uint64_t count[];
};

static struct gn_group_values **find(struct gn_group_values **values, uint64_t leader, uint32_t n)
{
	while (*values && ((*values)->leader != leader || (*values)->n != n))
		values = &(*values)->next;
	return values;
}

int gn_group_values_take(struct gn_group_values **values, const struct gn_sampled_value *counted,
			 uint32_t n, uint64_t *since)
{
	struct gn_group_values **place, *last;

	if (!n)
		return 0;
	place = find(values, counted[0].id, n);
	last = *place;
	if (!last) {
		last = calloc(1, sizeof(*last) + n * sizeof(last->count[0]));
		if (!last)
			return -ENOMEM;
		last->leader = counted[0].id;
		last->n = n;
	} else {
		*place = last->next;
	}
	/* To the front: a thread stays on a CPU for a while. */
	last->next = *values;
	*values = last;
	for (uint32_t i = 0; i < n; i++) {
		/* A count that has become less began anew. */
		const uint64_t before = counted[i].count < last->count[i] ? 0 : last->count[i];

		since[i] = counted[i].count - before;
		last->count[i] = counted[i].count;
	}
	return 0;
}

void gn_group_values_free(struct gn_group_values **values)
{
	while (*values) {
		struct gn_group_values *first = *values;

		*values = first->next;
		free(first);
	}
}
