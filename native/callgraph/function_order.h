/* The orders in which reports have nodes and arcs, and which of them they leave out. */
#ifndef GNOMON_FUNCTION_ORDER_H
#define GNOMON_FUNCTION_ORDER_H

#include "call_graph.h"

struct gn_sort_key;

/* Some nodes, or arcs, in the order of a report; the room of one list is that of the next. */
struct gn_listed {
	uint32_t *numbers, n, room;
	struct gn_sort_key *keys;
};

void gn_listed_free(struct gn_listed *listed);

/* Number the nodes: those that came to most first. 0, or -ENOMEM. */
int gn_number_nodes(struct gn_call_graph *graph);

/* The functions of the flat profile, those that have most themselves first. */
int gn_list_flat(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused);

/* Whether a node has an entry in the call graph profile. */
bool gn_has_entry(const struct gn_call_graph *graph, uint32_t node, bool with_unused);

/* The nodes that have an entry, by their index. */
int gn_list_entries(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused);

/*
 * Functions by name, then the cycles. With `has_paths`, those too of which only callees have
 * something: a function of a sampled path need not have a sample itself.
 */
int gn_list_index(struct gn_listed *listed, const struct gn_call_graph *graph, bool with_unused,
		  bool has_paths);

/* The arcs to a function, those with least first. */
int gn_list_callers(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t function);

/* The arcs from a function, those with most first. */
int gn_list_callees(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t function);

/* The members of a cycle's node, those with most first. */
int gn_list_members(struct gn_listed *listed, const struct gn_call_graph *graph, uint32_t node);

/* Whether a name is that of a function of profiling itself, which no report has. */
bool gn_is_of_profiling(const struct gn_label *name);

#endif
