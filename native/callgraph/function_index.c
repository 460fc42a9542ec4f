#include "function_index.h"
#include "graph_profile.h"

#include <errno.h>
#include <stdlib.h>

enum { COLUMNS = 3, WIDTH = 80, INDEX_WIDTH = 5 };

struct index_report {
	struct gn_report_text *text;
	const struct gn_call_graph *graph;
	const struct gn_label *titles, *files;
};

/* The name of a node; how many characters wide it is. */
static size_t put_name(const struct index_report *report, uint32_t node)
{
	struct gn_report_text *text = report->text;
	const uint32_t n = report->graph->profile->n_functions;
	const size_t begin = text->size;
	size_t width;

	if (node >= n) {
		gn_put_string(text, "<cycle ");
		gn_put_integer(text, (int64_t)node - n + 1);
		gn_put_string(text, ">");
		return text->size - begin;
	}
	gn_put_label(text, &report->titles[node]);
	width = report->titles[node].characters;
	if (report->files[node].size) {
		gn_put_string(text, " (");
		gn_put_label(text, &report->files[node]);
		gn_put_string(text, ")");
		width += 3 + report->files[node].characters;
	}
	return width;
}

/* The index of a node, on the right of its column. */
static size_t put_index(const struct index_report *report, uint32_t node, size_t column, size_t end)
{
	char index[GN_NODE_INDEX_BYTES];
	const size_t size = (size_t)(gn_write_node_index(index, report->graph, node) - index);

	column += size;
	if (column < end)
		gn_put_blanks(report->text, end - column);
	gn_put_blanks(report->text, 1);
	gn_put_bytes(report->text, index, size);
	gn_put_blanks(report->text, 1);
	return column > end ? column : end;
}

int gn_put_function_index(struct gn_report_text *text, const struct gn_call_graph *graph,
			  const struct gn_label *titles, const struct gn_label *files,
			  bool with_unused, bool has_paths)
{
	const struct index_report report = {text, graph, titles, files};
	struct gn_listed nodes = {0};
	uint32_t n_rows;

	if (gn_list_index(&nodes, graph, with_unused, has_paths) < 0)
		return -ENOMEM;
	n_rows = (nodes.n + COLUMNS - 1) / COLUMNS;
	for (uint32_t row = 0; row < n_rows; row++) {
		size_t column = 0, begin = 0;

		for (uint32_t i = row; i < nodes.n; i += n_rows) {
			column = put_index(&report, nodes.numbers[i], column, begin + INDEX_WIDTH);
			column += put_name(&report, nodes.numbers[i]);
			begin += (WIDTH - 1) / COLUMNS;
		}
		gn_put_string(text, "\n");
	}
	gn_listed_free(&nodes);
	return text->has_failed ? -ENOMEM : 0;
}
