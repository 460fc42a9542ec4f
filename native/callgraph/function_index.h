/* The function index: names in alphabetical order with their numbers, in GNU gprof's layout. */
#ifndef GNOMON_FUNCTION_INDEX_H
#define GNOMON_FUNCTION_INDEX_H

#include "function_order.h"
#include "report_text.h"

/* The rows. `files` are behind names, in parentheses; empty ones are not. 0, or -ENOMEM. */
int gn_put_function_index(struct gn_report_text *text, const struct gn_call_graph *graph,
			  const struct gn_label *titles, const struct gn_label *files,
			  bool with_unused, bool has_paths);

#endif
