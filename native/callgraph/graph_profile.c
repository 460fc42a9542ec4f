#include "graph_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RULE "-----------------------------------------------\n"

enum { CALLS_WIDTH = 7, INDEX_WIDTH = 6 };

struct report {
	struct gn_report_text *text;
	const struct gn_call_graph *graph;
	const struct gn_label *titles;
	double counted, divisor;
};

void gn_put_node_index(struct gn_report_text *text, const struct gn_call_graph *graph,
		       uint32_t node)
{
	gn_put_string(text, graph->is_shown[node] ? "[" : "(");
	gn_put_integer(text, graph->index[node], 0);
	gn_put_string(text, graph->is_shown[node] ? "]" : ")");
}

static void put_cycle(struct gn_report_text *text, int64_t cycle)
{
	gn_put_string(text, "<cycle ");
	gn_put_integer(text, cycle, 0);
}

void gn_put_node_name(struct gn_report_text *text, const struct gn_call_graph *graph,
		      const struct gn_label *titles, uint32_t node)
{
	const uint32_t n = graph->profile->n_functions;

	if (node >= n) {
		put_cycle(text, (int64_t)node - n + 1);
		gn_put_string(text, " as a whole> ");
	} else {
		gn_put_label(text, &titles[node]);
		gn_put_blanks(text, 1);
		if (graph->shares.cycle[node]) {
			put_cycle(text, graph->shares.cycle[node]);
			gn_put_string(text, "> ");
		}
	}
	gn_put_node_index(text, graph, node);
}

static void put_name(const struct report *report, uint32_t node)
{
	gn_put_node_name(report->text, report->graph, report->titles, node);
	gn_put_string(report->text, "\n");
}

static void put_times(const struct report *report, double own, double children)
{
	gn_put_fixed(report->text, own / report->divisor, 7, 2);
	gn_put_blanks(report->text, 1);
	gn_put_fixed(report->text, children / report->divisor, 7, 2);
}

static void put_calls(const struct report *report, int64_t calls)
{
	if (calls >= 0)
		gn_put_integer(report->text, calls, CALLS_WIDTH);
	else
		gn_put_blanks(report->text, CALLS_WIDTH);
}

static void put_self_calls(const struct report *report, int64_t self_calls)
{
	if (self_calls > 0) {
		gn_put_string(report->text, "+");
		gn_put_integer(report->text, self_calls, -CALLS_WIDTH);
	} else {
		gn_put_blanks(report->text, 1 + CALLS_WIDTH);
	}
}

static void put_called(const struct report *report, uint32_t node)
{
	gn_put_blanks(report->text, 1);
	put_calls(report, report->graph->shares.calls[node]);
	put_self_calls(report, report->graph->shares.self_calls[node]);
}

/* Index, share and times; of an index that is too long the end is cut off, as in gprof. */
static void put_start(const struct report *report, uint32_t node)
{
	const struct gn_call_graph *graph = report->graph;
	struct gn_report_text *text = report->text;
	const size_t begin = text->size;
	size_t size;

	gn_put_string(text, "[");
	gn_put_integer(text, graph->index[node], 0);
	gn_put_string(text, "]");
	size = text->size - begin;
	if (size > INDEX_WIDTH)
		text->size = begin + INDEX_WIDTH;
	else
		gn_put_blanks(text, INDEX_WIDTH - size);
	gn_put_blanks(text, 1);
	gn_put_fixed(text, 100 * (graph->own[node] + graph->children[node]) / report->counted, 5,
		     1);
	gn_put_blanks(text, 1);
	put_times(report, graph->own[node], graph->children[node]);
}

static void put_arc(const struct report *report, uint32_t arc, uint32_t shown)
{
	const struct gn_call_graph *graph = report->graph;
	const int32_t caller = graph->profile->caller[arc], callee = graph->profile->callee[arc];
	const uint32_t node = graph->shares.node_of[callee];
	const int64_t calls = graph->profile->calls[arc];

	if (graph->shares.node_of[caller] == node) {
		gn_put_blanks(report->text, 29);
		put_calls(report, calls);
		gn_put_blanks(report->text, 13);
	} else {
		gn_put_blanks(report->text, 13);
		put_times(report, graph->arc_own[arc], graph->arc_children[arc]);
		if (calls < 0) {
			gn_put_blanks(report->text, 21);
		} else {
			gn_put_blanks(report->text, 1);
			gn_put_integer(report->text, calls, CALLS_WIDTH);
			gn_put_string(report->text, "/");
			gn_put_integer(report->text, graph->shares.calls[node], -CALLS_WIDTH);
			gn_put_blanks(report->text, 5);
		}
	}
	put_name(report, shown);
}

static int put_arcs(const struct report *report, uint32_t function, bool are_callers)
{
	const int32_t *shown =
		are_callers ? report->graph->profile->caller : report->graph->profile->callee;
	struct gn_listed arcs;

	if ((are_callers ? gn_list_callers : gn_list_callees)(&arcs, report->graph, function) < 0)
		return -ENOMEM;
	if (are_callers && !arcs.n) {
		gn_put_blanks(report->text, 49);
		gn_put_string(report->text, "<spontaneous>\n");
	}
	for (uint32_t i = 0; i < arcs.n; i++)
		put_arc(report, arcs.numbers[i], (uint32_t)shown[arcs.numbers[i]]);
	free(arcs.numbers);
	return 0;
}

static int put_function(const struct report *report, uint32_t node)
{
	const struct gn_arc_shares *shares = &report->graph->shares;
	const int64_t calls = shares->calls[node], self_calls = shares->self_calls[node];

	if (put_arcs(report, node, true) < 0)
		return -ENOMEM;
	put_start(report, node);
	if (calls >= 0 && (calls || self_calls))
		put_called(report, node);
	else
		gn_put_blanks(report->text, 16);
	gn_put_blanks(report->text, 1);
	put_name(report, node);
	return put_arcs(report, node, false);
}

static int put_cycle_entry(const struct report *report, uint32_t node)
{
	const struct gn_call_graph *graph = report->graph;
	struct gn_listed members;

	if (gn_list_members(&members, graph, node) < 0)
		return -ENOMEM;
	put_start(report, node);
	put_called(report, node);
	gn_put_blanks(report->text, 1);
	put_name(report, node);
	for (uint32_t i = 0; i < members.n; i++) {
		const uint32_t member = members.numbers[i];

		gn_put_blanks(report->text, 13);
		put_times(report, graph->own[member], graph->children[member]);
		put_called(report, member);
		gn_put_blanks(report->text, 5);
		put_name(report, member);
	}
	free(members.numbers);
	return 0;
}

int gn_put_graph_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			 const struct gn_label *titles, double counted, double divisor,
			 bool with_unused, uint32_t *begin, size_t enough)
{
	const struct report report = {text, graph, titles, counted, divisor};
	int failed = 0;

	for (; *begin < graph->n_nodes && text->size < enough && !failed; ++*begin) {
		const uint32_t node = (uint32_t)graph->by_index[*begin];

		if (!gn_has_entry(graph, node, with_unused))
			continue;
		failed = node < graph->profile->n_functions ? put_function(&report, node)
							    : put_cycle_entry(&report, node);
		gn_put_string(text, RULE);
	}
	return failed || text->has_failed ? -ENOMEM : 0;
}
