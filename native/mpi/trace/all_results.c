/* MT_get_allresults() (section 4.5.3): a value of each rank, and statistics of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MPT_NO_HOOKS
#include <gnomon/mpt.h>

#include "all_ranks.h"
#include "memory_use.h"
#include "routine_sums.h"
#include "topology.h"
#include "totals_file.h"

/* Both kinds of values that there are. */
union number {
	long long whole;
	double real;
};

/* One block of memory, which begins with what `all_result` points to. */
struct block {
	int32_t n;
	union number *all, *sorted;
	union number *minimum, *maximum, *median, *sum;
	double *average;
	int *rank;
};

static int is_whole(int type)
{
	return type == COUNTS || type == MAXSTACKFUNC;
}

static union number own_value(int type, int id)
{
	union number value = {.whole = 0};
	uint32_t routine;

	switch (type) {
	case COUNTS:
		value.whole = (long long)gn_trace_sum_of(id).calls;
		break;
	case BYTES:
		value.real = (double)gn_trace_sum_of(id).bytes;
		break;
	case COMMUNICATIONTIME:
		value.real = gn_trace_seconds(gn_trace_sum_of(id).ticks);
		break;
	case STACK:
		value.real = (double)gn_trace_deepest_stack(&routine);
		break;
	case HEAP:
		value.real = gn_trace_heap_bytes();
		break;
	case MAXSTACKFUNC:
		gn_trace_deepest_stack(&routine);
		value.whole = routine;
		break;
	case ELAPSEDTIME:
		value.real = gn_trace_elapsed();
		break;
	default:
		value.real = gn_trace_average_hops();
	}
	return value;
}

static int make_block(struct block *block, int32_t n)
{
	const size_t ranks = (size_t)n;

	block->n = n;
	block->all = calloc(1, (2 * ranks + 4) * sizeof(*block->all) + sizeof(*block->average) +
				       ranks * sizeof(*block->rank));
	if (!block->all)
		return -1;
	block->sorted = block->all + ranks;
	block->minimum = block->sorted + ranks;
	block->maximum = block->minimum + 1;
	block->median = block->maximum + 1;
	block->sum = block->median + 1;
	block->average = (double *)(block->sum + 1);
	block->rank = (int *)(block->average + 1);
	return 0;
}

/* The ranks in order; how many of them have a value. */
static int32_t put_in_order(struct block *block, int type)
{
	struct gn_trace_value *values = malloc((size_t)block->n * sizeof(*values));
	int32_t n_known = 0;

	if (!values)
		return -1;
	for (int32_t i = 0; i < block->n; i++) {
		values[i].rank = i;
		values[i].value = is_whole(type) ? (double)block->all[i].whole : block->all[i].real;
		n_known += !isnan(values[i].value);
	}
	gn_trace_sort(values, block->n);
	for (int32_t i = 0; i < block->n; i++) {
		block->rank[i] = values[i].rank;
		block->sorted[i] = block->all[values[i].rank];
	}
	free(values);
	return n_known;
}

static void add_up(struct block *block, int type, int32_t n_known)
{
	for (int32_t i = 0; i < n_known; i++) {
		if (is_whole(type))
			block->sum->whole += block->sorted[i].whole;
		else
			block->sum->real += block->sorted[i].real;
	}
	*block->average = is_whole(type) ? (double)block->sum->whole : block->sum->real;
	*block->average /= n_known;
	if (!n_known)
		block->sum->real = NAN;
}

static void fill(const struct block *block, int32_t n_known, struct MT_summarystruct *summary)
{
	const int32_t last = n_known > 0 ? n_known - 1 : 0, median = n_known > 0 ? last / 2 : 0;

	*block->minimum = block->sorted[0];
	*block->maximum = block->sorted[last];
	*block->median = block->sorted[median];
	summary->min_rank = n_known ? block->rank[0] : -1;
	summary->max_rank = n_known ? block->rank[last] : -1;
	summary->med_rank = n_known ? block->rank[median] : -1;
	summary->min_result = block->minimum;
	summary->max_result = block->maximum;
	summary->med_result = block->median;
	summary->avg_result = block->average;
	summary->sum_result = block->sum;
	summary->all_result = block->all;
	summary->sorted_all_result = block->sorted;
	summary->sorted_rank = block->rank;
}

int MT_get_allresults(int type, int id, struct MT_summarystruct *summary)
{
	const struct gn_totals_header *header = gn_totals_header();
	const struct gn_trace_mpi *mpi = gn_trace_mpi();
	struct block block;
	union number own;
	int32_t n_known;

	if (!header || !mpi || type < COUNTS || type > AVGHOPS ||
	    (id != ALLMPI_ID && !gn_trace_name(id)))
		return -1;
	own = own_value(type, id);
	if (make_block(&block, header->n_ranks))
		return -1;
	if (mpi->allgather(&own, sizeof(own), block.all)) {
		free(block.all);
		return -1;
	}
	n_known = put_in_order(&block, type);
	if (n_known < 0) {
		free(block.all);
		return -1;
	}
	add_up(&block, type, n_known);
	fill(&block, n_known, summary);
	return 0;
}
