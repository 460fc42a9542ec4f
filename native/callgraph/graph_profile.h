/*
 * The call graph profile: each function between its callers and callees, in GNU gprof's layout.
 *
 * Source: GNU gprof's manual, "The Call Graph".
 */
#ifndef GNOMON_GRAPH_PROFILE_H
#define GNOMON_GRAPH_PROFILE_H

#include "function_order.h"
#include "report_text.h"

/*
 * The entries of nodes by their index, from `*begin` on, until the text is of `enough` bytes; then
 * `*begin` is where to go on, the number of nodes at the end. `counted` is what 100 % are,
 * `divisor` of values, to be what is shown. 0, or -ENOMEM.
 */
int gn_put_graph_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			 const struct gn_label *titles, double counted, double divisor,
			 bool with_unused, uint32_t *begin, size_t enough);

/* The name of a node with its cycle and index, in parentheses if it has no entry. */
void gn_put_node_name(struct gn_report_text *text, const struct gn_call_graph *graph,
		      const struct gn_label *titles, uint32_t node);

/* The index of a node, in brackets or parentheses. */
void gn_put_node_index(struct gn_report_text *text, const struct gn_call_graph *graph,
		       uint32_t node);

#endif
