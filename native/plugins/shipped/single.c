/* Only MPI task 0 writes what it measured; a program without tasks does, too. */
#include "group_stats.h"
#include "independent_ranks.h"

static int keep(int task, int n, hpm_event_vector items, int *n_out, hpm_event_vector *out,
		int *is_print_task)
{
	*is_print_task = task <= 0;
	return copy_items(n, items, n_out, out);
}

APART_PLUGIN(keep, hpm_job_task())
