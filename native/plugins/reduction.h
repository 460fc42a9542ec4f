/* What live reductions and replayed ones share. */
#ifndef GNOMON_PLUGINS_REDUCTION_H
#define GNOMON_PLUGINS_REDUCTION_H

#include <gnomon/hpm_tree.h>

/* A reduction that is not done by then never will be. */
#define HPM_ROUNDS_MAX 1000

/* Where a merge returned a negative number. */
#define HPM_NOT_MERGED "the aggregator's merge failed"

/* "task 2 was killed by SIGSEGV" */
void hpm_gap_say(const hpm_gap *gap, char *line, size_t size);

/* Names what is missing in the description of the first item. */
void hpm_gaps_tell(const hpm_gap *gaps, int n_gaps, int n, hpm_event_vector out);

/* A task's own items as they are, with a line that says why. 0, or ENOMEM. */
int hpm_own_items(int n, hpm_event_vector in, const char *why, int *n_out, hpm_event_vector *out,
		  int *is_print_task);

#endif
