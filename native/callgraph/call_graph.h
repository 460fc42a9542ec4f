/*
 * A call graph: what functions and calls came to with all that was called, cycles, and an order.
 *
 * Where a profile has only numbers of calls, what a function comes to is shared among its callers
 * in proportion to them; where it says what calls came to, that is taken. Time passes along arcs
 * from callees to callers; calls within a cycle pass none.
 *
 * Source: Graham, Kessler, McKusick, gprof: a call graph execution profiler (1982), 4; the order of
 * additions, on which the last digit depends, is that of GNU gprof 2.40.
 */
#ifndef GNOMON_CALL_GRAPH_H
#define GNOMON_CALL_GRAPH_H

#include "arc_shares.h"

/* What options say of a function. */
enum gn_choice {
	GN_WITHOUT_ENTRY = 1,
	GN_WITH_ENTRY = 2,
	GN_WITHOUT_TIME = 4,
	GN_WITH_TIME = 8,
	/* What somebody else has found out of all functions, with GN_IS_DECIDED on each. */
	GN_IS_SHOWN = 16,
	GN_IS_COUNTED = 32,
	GN_IS_DECIDED = 64,
};

/* Nodes are n functions, then the cycles. All values are as those of the profile. */
struct gn_call_graph {
	const struct gn_call_profile *profile;
	uint32_t n_nodes;
	struct gn_arc_lists from, to;
	struct gn_call_order order;
	struct gn_arc_shares shares;
	double *time;		/* of each node what its functions have themselves */
	double *fraction;	/* of each node: which part of its time the choice lets through */
	double *children_time;	/* of each node what its callees came to, without fractions */
	double *own, *children; /* of each node what it has, and what its callees came to in it */
	double *arc_own, *arc_children; /* of each arc what its callee and that one's callees came
					   to in it; 0 within a cycle */
	bool *is_shown;			/* which nodes have an entry */
	int32_t *index;			/* of each node its number in reports, from 1 on */
	int32_t *by_index;		/* the nodes by that number: those with most first */
	double counted; /* what all functions have themselves that the choice lets through */
};

/* `choice` is of each function, any of enum gn_choice. 0, or -ENOMEM. */
int gn_call_graph_make(struct gn_call_graph *graph, const struct gn_call_profile *profile,
		       const uint8_t *choice);
void gn_call_graph_free(struct gn_call_graph *graph);

#endif
