#include "flat_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static char *write_per_call(char *to, const struct gn_flat_units *units, double value,
			    int64_t calls)
{
	*to++ = ' ';
	return gn_write_fixed(to, units->per_call * value / units->per_unit / (double)calls, 8, 2);
}

int gn_put_flat_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			const struct gn_label *titles, const struct gn_flat_units *units,
			bool with_unused)
{
	struct gn_listed functions = {0};
	double sum = 0;

	if (gn_list_flat(&functions, graph, with_unused) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions.n; i++) {
		const uint32_t function = functions.numbers[i];
		const double own = graph->profile->own[function];
		const int64_t calls = graph->shares.calls[function];
		char *to = gn_put_begin(text, GN_COLUMNS_BYTES);

		if (!to)
			break;
		sum += own;
		to = gn_write_fixed(to, 100 * own / units->whole, 6, 2);
		*to++ = ' ';
		to = gn_write_fixed(to, sum / units->divisor, 9, 2);
		*to++ = ' ';
		to = gn_write_fixed(to, own / units->divisor, 8, 2);
		*to++ = ' ';
		if (calls > 0) {
			to = gn_write_integer(to, calls, 8);
			to = write_per_call(to, units, own, calls);
			to = write_per_call(to, units, own + graph->children_time[function], calls);
		} else {
			to = gn_write_blanks(to, 26);
		}
		gn_put_end(text, gn_write_blanks(to, 2));
		gn_put_label(text, &titles[function]);
		gn_put_string(text, "\n");
	}
	gn_listed_free(&functions);
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
