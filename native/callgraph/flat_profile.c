#include "flat_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int gn_put_flat_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			const struct gn_label *titles, const struct gn_flat_units *units,
			bool with_unused)
{
	struct gn_listed functions;
	double sum = 0;

	if (gn_list_flat(&functions, graph, with_unused) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions.n; i++) {
		const uint32_t function = functions.numbers[i];
		const double own = graph->profile->own[function];
		const int64_t calls = graph->shares.calls[function];

		sum += own;
		gn_put_fixed(text, 100 * own / units->whole, 6, 2);
		gn_put_blanks(text, 1);
		gn_put_fixed(text, sum / units->divisor, 9, 2);
		gn_put_blanks(text, 1);
		gn_put_fixed(text, own / units->divisor, 8, 2);
		gn_put_blanks(text, 1);
		if (calls > 0) {
			const double all = own + graph->children_time[function];

			gn_put_integer(text, calls, 8);
			gn_put_blanks(text, 1);
			gn_put_fixed(text, units->per_call * own / units->per_unit / (double)calls,
				     8, 2);
			gn_put_blanks(text, 1);
			gn_put_fixed(text, units->per_call * all / units->per_unit / (double)calls,
				     8, 2);
		} else {
			gn_put_blanks(text, 26);
		}
		gn_put_blanks(text, 2);
		gn_put_label(text, &titles[function]);
		gn_put_string(text, "\n");
	}
	free(functions.numbers);
	return text->has_failed ? -ENOMEM : 0;
}

double gn_most_per_call(const struct gn_call_graph *graph)
{
	double most = -1;

	for (uint32_t i = 0; i < graph->profile->n_functions; i++) {
		const double all = graph->profile->own[i] + graph->children_time[i];

		if (graph->shares.calls[i] > 0)
			most = fmax(most, all / (double)graph->shares.calls[i]);
	}
	return most;
}
