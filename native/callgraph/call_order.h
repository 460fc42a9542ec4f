/*
 * An order of functions in which callees come before callers, and the cycles that forbid it.
 *
 * The order of arcs decides which function is the head of a cycle and the order of its members, as
 * it does in GNU gprof: reports name and sort by it.
 *
 * Source: Graham, Kessler, McKusick, gprof: a call graph execution profiler (1982), 4.2; Gabow,
 * Path-based depth-first search for strong and biconnected components (2000).
 */
#ifndef GNOMON_CALL_ORDER_H
#define GNOMON_CALL_ORDER_H

#include "arc_lists.h"

struct gn_call_order {
	uint32_t *by_rank; /* functions: callees first; those of a cycle stand together */
	uint32_t n_cycles;
	uint32_t *first_member; /* of each cycle, and the end of all; in the order of heads */
	uint32_t *members;	/* functions, the head of a cycle first */
};

/* The order of n functions; `from` are the arcs from each. 0, or -ENOMEM. */
int gn_call_order_make(struct gn_call_order *order, uint32_t n, const struct gn_arc_lists *from,
		       const int32_t *callee);
void gn_call_order_free(struct gn_call_order *order);

#endif
