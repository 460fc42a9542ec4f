#include "all_ranks.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const struct gn_trace_mpi *here;

void gn_trace_set_mpi(const struct gn_trace_mpi *mpi)
{
	here = mpi;
}

const struct gn_trace_mpi *gn_trace_mpi(void)
{
	return here;
}

static int compare(const void *left, const void *right)
{
	const struct gn_trace_value *a = left, *b = right;

	if (isnan(a->value) != isnan(b->value))
		return isnan(a->value) ? 1 : -1;
	if (a->value < b->value || a->value > b->value)
		return a->value < b->value ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

void gn_trace_sort(struct gn_trace_value *values, int32_t n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
}

int32_t gn_trace_median(const struct gn_trace_value *sorted, int32_t n)
{
	while (n > 0 && isnan(sorted[n - 1].value))
		n--;
	return n > 0 ? (n - 1) / 2 : 0;
}
