#include "arc_shares.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double SMALLEST_OUTSIDE = 1e-9;

bool gn_has_counts(const struct gn_call_profile *profile)
{
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++)
		if (profile->calls[arc] == GN_CALLS_UNKNOWN)
			return false;
	return profile->calls_of || profile->n_arcs;
}

bool gn_has_totals(const struct gn_call_profile *profile)
{
	if (!profile->arc_total)
		return false;
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++)
		if (isnan(profile->arc_total[arc]))
			return false;
	return profile->n_arcs > 0;
}

/* What calls of a hostile file come to has no limit: sums go around. */
static void add(int64_t *sum, int64_t calls)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)calls);
}

static double divided(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double larger(double one, double other)
{
	return isnan(one) || one > other ? one : other;
}

/* What makes no sense adds nothing. */
static double finite_of(double value)
{
	if (isnan(value))
		return 0;
	return isinf(value) ? copysign(DBL_MAX, value) : value;
}

static bool is_inside(const struct gn_arc_shares *shares, const struct gn_call_profile *profile,
		      uint32_t arc)
{
	return shares->node_of[profile->caller[arc]] == shares->node_of[profile->callee[arc]];
}

static void count_calls(struct gn_arc_shares *shares, const struct gn_call_profile *profile,
			uint32_t n_nodes)
{
	const uint32_t n = profile->n_functions;

	if (!gn_has_counts(profile)) {
		for (uint32_t node = 0; node < n_nodes; node++)
			shares->calls[node] = shares->self_calls[node] = GN_CALLS_UNKNOWN;
		return;
	}
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++) {
		const uint32_t callee = (uint32_t)profile->callee[arc];
		const uint32_t node = shares->node_of[callee];
		const bool is_self = profile->caller[arc] == profile->callee[arc];

		if (is_self)
			add(&shares->self_calls[callee], profile->calls[arc]);
		else if (!profile->calls_of)
			add(&shares->calls[callee], profile->calls[arc]);
		if (node >= n && !is_self)
			add(is_inside(shares, profile, arc) ? &shares->self_calls[node]
							    : &shares->calls[node],
			    profile->calls[arc]);
	}
	for (uint32_t i = 0; i < n && profile->calls_of; i++)
		shares->calls[i] =
			(int64_t)((uint64_t)profile->calls_of[i] - (uint64_t)shares->self_calls[i]);
}

static void share_by_calls(struct gn_arc_shares *shares, const struct gn_call_profile *profile)
{
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++) {
		const double entered = (double)shares->calls[shares->node_of[profile->callee[arc]]];
		const double calls =
			is_inside(shares, profile, arc) ? 0 : (double)profile->calls[arc];

		shares->share[arc] = divided(calls, entered);
		shares->own_share[arc] = shares->children_share[arc] = shares->share[arc];
	}
}

/* What each node has itself, with all that it calls, and as far as arcs come to it. */
struct node_totals {
	double *own, *whole, *entering;
};

static void sum_totals(struct node_totals *totals, const struct gn_arc_shares *shares,
		       const struct gn_call_profile *profile, uint32_t n_nodes)
{
	const uint32_t n = profile->n_functions;

	for (uint32_t i = 0; i < n; i++)
		totals->own[i] = profile->own[i];
	for (uint32_t i = 0; i < n; i++)
		if (shares->node_of[i] >= n)
			totals->own[shares->node_of[i]] += profile->own[i];
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++) {
		const double weight =
			is_inside(shares, profile, arc) ? 0 : finite_of(profile->arc_total[arc]);

		totals->whole[shares->node_of[profile->caller[arc]]] += weight;
		totals->entering[shares->node_of[profile->callee[arc]]] += weight;
	}
	for (uint32_t node = 0; node < n_nodes; node++)
		totals->whole[node] = totals->own[node] + totals->whole[node];
}

static void share_by_totals(struct gn_arc_shares *shares, const struct gn_call_profile *profile,
			    const struct node_totals *totals, uint32_t n_nodes)
{
	for (uint32_t arc = 0; arc < profile->n_arcs; arc++) {
		const uint32_t node = shares->node_of[profile->callee[arc]];
		const double weight = is_inside(shares, profile, arc) ? 0 : profile->arc_total[arc];
		/*
		 * Of callgrind's files a function may have less than what its callers say: code of
		 * another file that was inlined into it is taken for another function of its name.
		 */
		const double share =
			divided(weight, larger(totals->whole[node], totals->entering[node]));

		shares->share[arc] = shares->own_share[arc] = shares->children_share[arc] = share;
		if (profile->arc_own && isfinite(profile->arc_own[arc]) &&
		    node < profile->n_functions) {
			const double own = profile->arc_own[arc];

			shares->own_share[arc] = divided(own, totals->own[node]);
			shares->children_share[arc] =
				divided(weight - own, totals->whole[node] - totals->own[node]);
		}
	}
	for (uint32_t node = 0; node < n_nodes; node++) {
		const double outside =
			larger(1.0 - divided(totals->entering[node], totals->whole[node]), 0.0);

		shares->outside[node] = outside < SMALLEST_OUTSIDE ? 0 : outside;
	}
}

static int share(struct gn_arc_shares *shares, const struct gn_call_profile *profile,
		 uint32_t n_nodes)
{
	struct node_totals totals;
	int failed = -ENOMEM;

	if (!gn_has_totals(profile)) {
		share_by_calls(shares, profile);
		return 0;
	}
	totals.own = gn_zeroed(n_nodes, sizeof(double));
	totals.whole = gn_zeroed(n_nodes, sizeof(double));
	totals.entering = gn_zeroed(n_nodes, sizeof(double));
	if (totals.own && totals.whole && totals.entering) {
		sum_totals(&totals, shares, profile, n_nodes);
		share_by_totals(shares, profile, &totals, n_nodes);
		failed = 0;
	}
	free(totals.own);
	free(totals.whole);
	free(totals.entering);
	return failed;
}

int gn_arc_shares_make(struct gn_arc_shares *shares, const struct gn_call_profile *profile,
		       const struct gn_call_order *order)
{
	const uint32_t n = profile->n_functions, n_nodes = n + order->n_cycles;

	shares->cycle = gn_zeroed(n, sizeof(*shares->cycle));
	shares->node_of = gn_zeroed(n, sizeof(*shares->node_of));
	shares->calls = gn_zeroed(n_nodes, sizeof(*shares->calls));
	shares->self_calls = gn_zeroed(n_nodes, sizeof(*shares->self_calls));
	shares->share = gn_zeroed(profile->n_arcs, sizeof(double));
	shares->own_share = gn_zeroed(profile->n_arcs, sizeof(double));
	shares->children_share = gn_zeroed(profile->n_arcs, sizeof(double));
	shares->outside = gn_zeroed(n_nodes, sizeof(double));
	if (!shares->cycle || !shares->node_of || !shares->calls || !shares->self_calls ||
	    !shares->share || !shares->own_share || !shares->children_share || !shares->outside)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		shares->node_of[i] = i;
	for (uint32_t cycle = 0; cycle < order->n_cycles; cycle++)
		for (uint32_t i = order->first_member[cycle]; i < order->first_member[cycle + 1];
		     i++) {
			shares->cycle[order->members[i]] = (int32_t)cycle + 1;
			shares->node_of[order->members[i]] = n + cycle;
		}
	count_calls(shares, profile, n_nodes);
	return share(shares, profile, n_nodes);
}

void gn_arc_shares_free(struct gn_arc_shares *shares)
{
	free(shares->cycle);
	free(shares->node_of);
	free(shares->calls);
	free(shares->self_calls);
	free(shares->share);
	free(shares->own_share);
	free(shares->children_share);
	free(shares->outside);
	*shares = (struct gn_arc_shares){0};
}
