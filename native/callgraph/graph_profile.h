/*
 * The call graph profile: each function between its callers and callees, in GNU gprof's layout.
 *
 * Source: GNU gprof's manual, "The Call Graph".
 */
#ifndef GNOMON_GRAPH_PROFILE_H
#define GNOMON_GRAPH_PROFILE_H

#include "function_order.h"
#include "report_text.h"

/* Names of nodes with their cycle and index, in parentheses if it has no entry. */
struct gn_node_names {
	struct gn_report_text text;
	size_t *ends; /* of each node's */
};

/* 0, or -ENOMEM; to be freed in either case. */
int gn_node_names_make(struct gn_node_names *names, const struct gn_call_graph *graph,
		       const struct gn_label *titles);
struct gn_label gn_node_name(const struct gn_node_names *names, uint32_t node);
void gn_node_names_free(struct gn_node_names *names);

enum { GN_NODE_INDEX_BYTES = 32 };

/* The index of a node, in brackets or parentheses; where it ends. */
char *gn_write_node_index(char *to, const struct gn_call_graph *graph, uint32_t node);

/*
 * The entries of nodes by their index, from `*begin` on, until the text is of `enough` bytes; then
 * `*begin` is where to go on, the number of nodes at the end. `counted` is what 100 % are,
 * `divisor` of values, to be what is shown. 0, or -ENOMEM.
 */
int gn_put_graph_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			 const struct gn_node_names *names, double counted, double divisor,
			 bool with_unused, uint32_t *begin, size_t enough);

#endif
