#include "finalize.h"

#include <stdlib.h>
#include <string.h>

#include "all_ranks.h"
#include "hooks.h"
#include "profile_text.h"
#include "profile_viz.h"
#include "routine_sums.h"
#include "send_matrix.h"
#include "settings.h"
#include "topology.h"
#include "totals_file.h"

#define ROOT 0

/* What rank 0 tells all: who writes, unless the program chooses. */
struct plan {
	int32_t chosen[3]; /* of least, median and most communication time */
	int32_t has_matrix;
};

void gn_trace_up(void)
{
	const struct gn_totals_header *header = gn_totals_header();

	if (header && header->rank == ROOT)
		gn_trace_warn_of_settings();
}

static int choose(const struct gn_trace_rank *all, int32_t n, struct plan *plan)
{
	struct gn_trace_value *order = malloc((size_t)n * sizeof(*order));

	if (!order)
		return -1;
	for (int32_t i = 0; i < n; i++)
		order[i] = (struct gn_trace_value){all[i].seconds, i, 0};
	gn_trace_sort(order, n);
	plan->chosen[0] = order[0].rank;
	plan->chosen[1] = order[gn_trace_median(order, n)].rank;
	plan->chosen[2] = order[n - 1].rank;
	free(order);
	return 0;
}

static int is_chosen(const struct plan *plan, int32_t rank)
{
	if (gn_trace_hooks.output_trace)
		return gn_trace_hooks.output_trace(rank) != 0;
	for (int i = 0; i < 3; i++)
		if (plan->chosen[i] == rank)
			return 1;
	return rank == ROOT;
}

/* At rank 0 what all have told; without memory there, NULL, and only that rank writes. */
static struct gn_trace_rank *gather(const struct gn_trace_mpi *mpi, int32_t rank, int32_t n)
{
	const struct gn_trace_rank own = {gn_trace_seconds(gn_trace_sum_of(0).ticks),
					  gn_trace_average_hops()};
	struct gn_trace_rank *all = NULL;

	if (rank == ROOT) {
		all = calloc((size_t)n, sizeof(*all));
		if (!all)
			return NULL;
	}
	if (mpi->gather(&own, sizeof(own), all, ROOT)) {
		free(all);
		return NULL;
	}
	return all;
}

void gn_trace_finish(void)
{
	static int is_done;
	const struct gn_totals_header *header = gn_totals_header();
	const struct gn_trace_mpi *mpi = gn_trace_mpi();
	struct plan plan = {{ROOT, ROOT, ROOT}, 0};
	struct gn_trace_rank *all;

	if (is_done || !header || !header->up_ticks || !mpi)
		return;
	is_done = 1;
	all = gather(mpi, header->rank, header->n_ranks);
	if (header->rank == ROOT) {
		if (all)
			choose(all, header->n_ranks, &plan);
		plan.has_matrix =
			gn_trace_wants_send_pattern() && !gn_trace_matrix_begin(header->n_ranks);
	}
	if (mpi->broadcast(&plan, sizeof(plan), ROOT))
		return;
	/* Asked in all ranks, which may have something to reduce. */
	if (gn_trace_hooks.output_text)
		gn_trace_hooks.output_text();
	if (is_chosen(&plan, header->rank)) {
		if (!gn_trace_hooks.output_text)
			gn_trace_write_text(header->rank, all, header->n_ranks);
		gn_trace_write_viz(header->rank);
	}
	if (plan.has_matrix)
		gn_trace_matrix_write_row(header->rank, header->n_ranks);
	free(all);
}
