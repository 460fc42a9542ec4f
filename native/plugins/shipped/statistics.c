/* Mean, deviation and extremes over the tasks that counted the same. */
#include "group_stats.h"

static const struct ranks_plan plan = {
	.word = "statistics", .value = RANKS_MEAN, .has_deviation = 1, .has_imbalance = 1};

RANKS_PLUGIN(plan)
