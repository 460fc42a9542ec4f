/*
 * The flat profile: functions by what they have themselves, in GNU gprof's layout.
 *
 * Source: GNU gprof's manual, "The Flat Profile".
 */
#ifndef GNOMON_FLAT_PROFILE_H
#define GNOMON_FLAT_PROFILE_H

#include "function_order.h"
#include "report_text.h"

struct gn_flat_units {
	double whole;	 /* what 100 % are */
	double divisor;	 /* of values, to be what is shown */
	double per_unit; /* of values, to be in the metric's unit */
	double per_call; /* what a unit per call is multiplied with: of a prefix */
};

/* The rows. `titles` are names of functions as people write them. 0, or -ENOMEM. */
int gn_put_flat_profile(struct gn_report_text *text, const struct gn_call_graph *graph,
			const struct gn_label *titles, const struct gn_flat_units *units,
			bool with_unused);

/* What the function has with its callees that has most of that for each call; -1: none is called.
 */
double gn_most_per_call(const struct gn_call_graph *graph);

#endif
