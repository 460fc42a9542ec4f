/*
 * What the events of a group have counted in a thread from one of its samples to the next. The
 * kernel gives what each has counted so far, of each thread by itself (Linux 6.13; on the machine,
 * of each CPU).
 */
#ifndef GNOMON_SAMPLING_GROUP_VALUES_H
#define GNOMON_SAMPLING_GROUP_VALUES_H

#include <stdint.h>

#include "sample_record.h"

/* The last counts of a thread, by leaders; NULL: there are none yet. */
struct gn_group_values;

/*
 * Takes the counts of a sample, the leader's first; `since` gets what has come since the last ones
 * of this leader, since its beginning if there were none. It has room for `n`. 0 or -ENOMEM.
 */
int gn_group_values_take(struct gn_group_values **values, const struct gn_sampled_value *counted,
			 uint32_t n, uint64_t *since);
void gn_group_values_free(struct gn_group_values **values);

#endif
