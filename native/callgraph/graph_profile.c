#include "graph_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RULE "-----------------------------------------------\n"
#define SPONTANEOUS "                                                 <spontaneous>\n"

enum { CALLS_WIDTH = 7, INDEX_WIDTH = 6 };

struct report {
	struct gn_report_text *text;
	const struct gn_call_graph *graph;
	const struct gn_node_names *names;
	double counted, divisor;
	struct gn_listed listed;
};

char *gn_write_node_index(char *to, const struct gn_call_graph *graph, uint32_t node)
{
	*to++ = graph->is_shown[node] ? '[' : '(';
	to = gn_write_integer(to, graph->index[node], 0);
	*to++ = graph->is_shown[node] ? ']' : ')';
	return to;
}

static void put_cycle(struct gn_report_text *text, int64_t cycle)
{
	gn_put_string(text, "<cycle ");
	gn_put_integer(text, cycle);
}

static void put_node_name(struct gn_report_text *text, const struct gn_call_graph *graph,
			  const struct gn_label *titles, uint32_t node)
{
	const uint32_t n = graph->profile->n_functions;
	char index[GN_NODE_INDEX_BYTES];

	if (node >= n) {
		put_cycle(text, (int64_t)node - n + 1);
		gn_put_string(text, " as a whole> ");
	} else {
		gn_put_label(text, &titles[node]);
		gn_put_string(text, " ");
		if (graph->shares.cycle[node]) {
			put_cycle(text, graph->shares.cycle[node]);
			gn_put_string(text, "> ");
		}
	}
	gn_put_bytes(text, index, (size_t)(gn_write_node_index(index, graph, node) - index));
}

int gn_node_names_make(struct gn_node_names *names, const struct gn_call_graph *graph,
		       const struct gn_label *titles)
{
	*names = (struct gn_node_names){.ends = gn_zeroed(graph->n_nodes, sizeof(*names->ends))};
	if (!names->ends)
		return -ENOMEM;
	for (uint32_t node = 0; node < graph->n_nodes; node++) {
		put_node_name(&names->text, graph, titles, node);
		names->ends[node] = names->text.size;
	}
	return names->text.has_failed ? -ENOMEM : 0;
}

struct gn_label gn_node_name(const struct gn_node_names *names, uint32_t node)
{
	const size_t begin = node ? names->ends[node - 1] : 0;

	return (struct gn_label){.bytes = names->text.bytes + begin,
				 .size = names->ends[node] - begin};
}

void gn_node_names_free(struct gn_node_names *names)
{
	free(names->text.bytes);
	free(names->ends);
	*names = (struct gn_node_names){0};
}

/* A line whose columns have begun at `begin` and end at `to`. */
static void end_line(const struct report *report, const char *to, uint32_t node)
{
	const struct gn_label name = gn_node_name(report->names, node);

	gn_put_end(report->text, to);
	gn_put_label(report->text, &name);
	gn_put_string(report->text, "\n");
}

static char *write_times(const struct report *report, char *to, double own, double children)
{
	to = gn_write_fixed(to, own / report->divisor, 7, 2);
	*to++ = ' ';
	return gn_write_fixed(to, children / report->divisor, 7, 2);
}

static char *write_calls(char *to, int64_t calls)
{
	return calls >= 0 ? gn_write_integer(to, calls, CALLS_WIDTH)
			  : gn_write_blanks(to, CALLS_WIDTH);
}

static char *write_called(const struct report *report, char *to, uint32_t node)
{
	const int64_t self_calls = report->graph->shares.self_calls[node];

	*to++ = ' ';
	to = write_calls(to, report->graph->shares.calls[node]);
	if (self_calls <= 0)
		return gn_write_blanks(to, 1 + CALLS_WIDTH);
	*to++ = '+';
	return gn_write_integer(to, self_calls, -CALLS_WIDTH);
}

/* Index, share and times; of an index that is too long the end is cut off, as in gprof. */
static char *write_start(const struct report *report, char *to, uint32_t node)
{
	const struct gn_call_graph *graph = report->graph;
	char index[GN_NODE_INDEX_BYTES] = "[",
	     *end = gn_write_integer(index + 1, graph->index[node], 0);

	*end++ = ']';
	memset(end, ' ', INDEX_WIDTH);
	to = gn_write_bytes(to, index, INDEX_WIDTH);
	*to++ = ' ';
	to = gn_write_fixed(to, 100 * (graph->own[node] + graph->children[node]) / report->counted,
			    5, 1);
	*to++ = ' ';
	return write_times(report, to, graph->own[node], graph->children[node]);
}

static void put_arc(const struct report *report, uint32_t arc, uint32_t shown)
{
	const struct gn_call_graph *graph = report->graph;
	const int32_t caller = graph->profile->caller[arc], callee = graph->profile->callee[arc];
	const uint32_t node = graph->shares.node_of[callee];
	const int64_t calls = graph->profile->calls[arc];
	char *to = gn_put_begin(report->text, GN_COLUMNS_BYTES);

	if (!to)
		return;
	if (graph->shares.node_of[caller] == node) {
		to = write_calls(gn_write_blanks(to, 29), calls);
		to = gn_write_blanks(to, 13);
	} else {
		to = write_times(report, gn_write_blanks(to, 13), graph->arc_own[arc],
				 graph->arc_children[arc]);
		if (calls < 0) {
			to = gn_write_blanks(to, 21);
		} else {
			*to++ = ' ';
			to = gn_write_integer(to, calls, CALLS_WIDTH);
			*to++ = '/';
			to = gn_write_integer(to, graph->shares.calls[node], -CALLS_WIDTH);
			to = gn_write_blanks(to, 5);
		}
	}
	end_line(report, to, shown);
}

static int put_arcs(struct report *report, uint32_t function, bool are_callers)
{
	const struct gn_call_profile *profile = report->graph->profile;
	const int32_t *shown = are_callers ? profile->caller : profile->callee;
	struct gn_listed *arcs = &report->listed;

	if ((are_callers ? gn_list_callers : gn_list_callees)(arcs, report->graph, function) < 0)
		return -ENOMEM;
	if (are_callers && !arcs->n)
		gn_put_string(report->text, SPONTANEOUS);
	for (uint32_t i = 0; i < arcs->n; i++)
		put_arc(report, arcs->numbers[i], (uint32_t)shown[arcs->numbers[i]]);
	return 0;
}

static int put_function(struct report *report, uint32_t node)
{
	const struct gn_arc_shares *shares = &report->graph->shares;
	const int64_t calls = shares->calls[node], self_calls = shares->self_calls[node];
	char *to;

	if (put_arcs(report, node, true) < 0)
		return -ENOMEM;
	to = gn_put_begin(report->text, GN_COLUMNS_BYTES);
	if (!to)
		return -ENOMEM;
	to = write_start(report, to, node);
	to = calls >= 0 && (calls || self_calls) ? write_called(report, to, node)
						 : gn_write_blanks(to, 2 * (1 + CALLS_WIDTH));
	*to++ = ' ';
	end_line(report, to, node);
	return put_arcs(report, node, false);
}

static int put_cycle_entry(struct report *report, uint32_t node)
{
	const struct gn_call_graph *graph = report->graph;
	const struct gn_listed *members = &report->listed;
	char *to = gn_put_begin(report->text, GN_COLUMNS_BYTES);

	if (!to || gn_list_members(&report->listed, graph, node) < 0)
		return -ENOMEM;
	to = write_called(report, write_start(report, to, node), node);
	*to++ = ' ';
	end_line(report, to, node);
	for (uint32_t i = 0; i < members->n; i++) {
		const uint32_t member = members->numbers[i];

		to = gn_put_begin(report->text, GN_COLUMNS_BYTES);
		if (!to)
			return -ENOMEM;
		to = write_times(report, gn_write_blanks(to, 13), graph->own[member],
				 graph->children[member]);
		to = write_called(report, to, member);
		end_line(report, gn_write_blanks(to, 5), member);
	}
	return 0;
}

int gn_put_graph_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			 const struct gn_node_names *names, double counted, double divisor,
			 bool with_unused, uint32_t *begin, size_t enough)
{
	struct report report = {
		.text = text,
		.graph = graph,
		.names = names,
		.counted = counted,
		.divisor = divisor,
	};
	int failed = 0;

	for (; *begin < graph->n_nodes && text->size < enough && !failed; ++*begin) {
		const uint32_t node = (uint32_t)graph->by_index[*begin];

		if (!gn_has_entry(graph, node, with_unused))
			continue;
		failed = node < graph->profile->n_functions ? put_function(&report, node)
							    : put_cycle_entry(&report, node);
		gn_put_string(text, RULE);
	}
	gn_listed_free(&report.listed);
	return failed || text->has_failed ? -ENOMEM : 0;
}
