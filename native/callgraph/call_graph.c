#include "call_graph.h"
#include "function_order.h"

#include <errno.h>
#include <stdlib.h>

/* Which options there are at all: what -f and -F name is all that there is. */
struct options {
	const uint8_t *choice;
	bool has_entries, has_times;
};

static bool is_of(const struct options *options, uint32_t function, enum gn_choice choice)
{
	return options->choice[function] & choice;
}

struct members {
	const uint32_t *functions;
	uint32_t n;
};

static struct members members_of(const struct gn_call_graph *graph, const uint32_t *node)
{
	const uint32_t n = graph->profile->n_functions;
	const uint32_t *first = graph->order.first_member;

	if (*node < n)
		return (struct members){node, 1};
	return (struct members){graph->order.members + first[*node - n],
				first[*node - n + 1] - first[*node - n]};
}

/* Take over from callers who is shown, and which fraction of times counts. */
static void inherit(struct gn_call_graph *graph, const struct options *options, uint32_t node)
{
	const struct members members = members_of(graph, &node);
	const double outside = graph->shares.outside[node];
	double fraction = options->has_times ? 0 : outside;
	bool is_shown = false;

	for (uint32_t i = 0; i < members.n; i++) {
		const uint32_t member = members.functions[i];

		for (uint32_t at = graph->to.first[member]; at < graph->to.first[member + 1];
		     at++) {
			const uint32_t arc = graph->to.arcs[at];
			const uint32_t caller = (uint32_t)graph->profile->caller[arc];

			if (graph->shares.node_of[caller] == node)
				continue;
			is_shown |= graph->is_shown[caller];
			fraction += graph->fraction[caller] * graph->shares.share[arc];
		}
	}
	for (uint32_t i = 0; i < members.n; i++) {
		graph->is_shown[members.functions[i]] = is_shown;
		graph->fraction[members.functions[i]] = fraction;
	}
	graph->is_shown[node] = is_shown;
	graph->fraction[node] = fraction;
}

static bool has_entry(const struct options *options, uint32_t function, bool is_inherited)
{
	if (is_of(options, function, GN_WITH_ENTRY))
		return true;
	return !is_of(options, function, GN_WITHOUT_ENTRY) &&
	       (is_inherited || !options->has_entries);
}

static double counted_part(const struct options *options, uint32_t function, double inherited)
{
	const bool is_in = is_of(options, function, GN_WITH_TIME);
	const bool is_out = is_of(options, function, GN_WITHOUT_TIME);

	if (inherited != 0)
		return !is_in && is_out ? 0 : inherited;
	return is_in || (!options->has_times && !is_out) ? 1 : 0;
}

/* Pass on from callers to callees who is shown and counts. */
static void pass_flags(struct gn_call_graph *graph, const struct options *options)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t at = graph->profile->n_functions; at--;) {
		const uint32_t function = graph->order.by_rank[at];
		const uint32_t node = graph->shares.node_of[function];

		if (node != last)
			inherit(graph, options, node);
		last = node;
		graph->is_shown[function] = has_entry(options, function, graph->is_shown[function]);
		graph->fraction[function] =
			counted_part(options, function, graph->fraction[function]);
		graph->own[function] = graph->time[function] * graph->fraction[function];
		graph->counted += graph->own[function];
	}
}

/*
 * Take from the choice who is shown and counts. Parts of one are those that are passed on without a
 * choice, rounding errors and all: what is equally large stands in the same order with it.
 */
static void set_flags(struct gn_call_graph *graph, const struct options *options)
{
	const uint32_t n = graph->profile->n_functions;

	pass_flags(graph, options);
	graph->counted = 0;
	for (uint32_t at = n; at--;) {
		const uint32_t function = graph->order.by_rank[at];

		graph->is_shown[function] = is_of(options, function, GN_IS_SHOWN);
		if (!is_of(options, function, GN_IS_COUNTED))
			graph->fraction[function] = 0;
		graph->own[function] = graph->time[function] * graph->fraction[function];
		graph->counted += graph->own[function];
	}
	for (uint32_t node = n; node < graph->n_nodes; node++) {
		const struct members members = members_of(graph, &node);
		bool is_shown = false, is_counted = false;

		for (uint32_t i = 0; i < members.n; i++) {
			is_shown |= graph->is_shown[members.functions[i]];
			is_counted |= graph->fraction[members.functions[i]] != 0;
		}
		graph->is_shown[node] = is_shown;
		if (!is_counted)
			graph->fraction[node] = 0;
	}
}

static void sum_cycles(struct gn_call_graph *graph)
{
	for (uint32_t node = graph->profile->n_functions; node < graph->n_nodes; node++) {
		const struct members members = members_of(graph, &node);

		for (uint32_t i = 0; i < members.n; i++)
			if (graph->fraction[members.functions[i]] != 0)
				graph->time[node] += graph->time[members.functions[i]];
		graph->own[node] = graph->fraction[node] * graph->time[node];
	}
}

static void pass_on(struct gn_call_graph *graph, uint32_t caller, uint32_t arc)
{
	const uint32_t callee = (uint32_t)graph->profile->callee[arc];
	const uint32_t node = graph->shares.node_of[callee];
	const uint32_t head = graph->shares.node_of[caller];
	const double fraction = graph->fraction[caller];
	double own, children, share;

	if (node == head || graph->fraction[callee] == 0)
		return;
	own = graph->time[node] * graph->shares.own_share[arc];
	children = graph->children_time[node] * graph->shares.children_share[arc];
	share = own + children;
	graph->children_time[caller] += share;
	graph->children[caller] += fraction * share;
	graph->arc_own[arc] = own * fraction;
	graph->arc_children[arc] = children * fraction;
	if (head != caller) {
		graph->children_time[head] += share;
		graph->children[head] += fraction * share;
	}
}

static void pass_time(struct gn_call_graph *graph)
{
	for (uint32_t at = 0; at < graph->profile->n_functions; at++) {
		const uint32_t function = graph->order.by_rank[at];

		if (graph->fraction[function] == 0)
			continue;
		for (uint32_t i = graph->from.first[function]; i < graph->from.first[function + 1];
		     i++)
			pass_on(graph, function, graph->from.arcs[i]);
	}
}

static int make_room(struct gn_call_graph *graph)
{
	const uint32_t n_nodes = graph->n_nodes, n_arcs = graph->profile->n_arcs;

	graph->time = gn_zeroed(n_nodes, sizeof(double));
	graph->fraction = gn_zeroed(n_nodes, sizeof(double));
	graph->children_time = gn_zeroed(n_nodes, sizeof(double));
	graph->own = gn_zeroed(n_nodes, sizeof(double));
	graph->children = gn_zeroed(n_nodes, sizeof(double));
	graph->arc_own = gn_zeroed(n_arcs, sizeof(double));
	graph->arc_children = gn_zeroed(n_arcs, sizeof(double));
	graph->is_shown = gn_zeroed(n_nodes, sizeof(bool));
	graph->index = gn_zeroed(n_nodes, sizeof(*graph->index));
	graph->by_index = gn_zeroed(n_nodes, sizeof(*graph->by_index));
	if (!graph->time || !graph->fraction || !graph->children_time || !graph->own ||
	    !graph->children || !graph->arc_own || !graph->arc_children || !graph->is_shown ||
	    !graph->index || !graph->by_index)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->profile->n_functions; i++)
		graph->time[i] = graph->profile->own[i];
	return 0;
}

static struct options options_of(const uint8_t *choice, uint32_t n)
{
	struct options options = {.choice = choice};

	for (uint32_t i = 0; i < n; i++) {
		options.has_entries |= !!(choice[i] & GN_WITH_ENTRY);
		options.has_times |= !!(choice[i] & GN_WITH_TIME);
	}
	return options;
}

int gn_call_graph_make(struct gn_call_graph *graph, const struct gn_call_profile *profile,
		       const uint8_t *choice)
{
	const uint32_t n = profile->n_functions;
	const struct options options = options_of(choice, n);

	*graph = (struct gn_call_graph){.profile = profile};
	if (gn_arc_lists_make(&graph->from, n, profile->n_arcs, profile->caller) < 0 ||
	    gn_arc_lists_make(&graph->to, n, profile->n_arcs, profile->callee) < 0 ||
	    gn_call_order_make(&graph->order, n, &graph->from, profile->callee) < 0)
		return -ENOMEM;
	graph->n_nodes = n + graph->order.n_cycles;
	if (gn_arc_shares_make(&graph->shares, profile, &graph->order) < 0 || make_room(graph) < 0)
		return -ENOMEM;
	if (n && choice[0] & GN_IS_DECIDED)
		set_flags(graph, &options);
	else
		pass_flags(graph, &options);
	sum_cycles(graph);
	pass_time(graph);
	return gn_number_nodes(graph);
}

void gn_call_graph_free(struct gn_call_graph *graph)
{
	gn_arc_lists_free(&graph->from);
	gn_arc_lists_free(&graph->to);
	gn_call_order_free(&graph->order);
	gn_arc_shares_free(&graph->shares);
	free(graph->time);
	free(graph->fraction);
	free(graph->children_time);
	free(graph->own);
	free(graph->children);
	free(graph->arc_own);
	free(graph->arc_children);
	free(graph->is_shown);
	free(graph->index);
	free(graph->by_index);
	*graph = (struct gn_call_graph){0};
}
