/* How many of the tasks that counted the same had which values. */
#include "group_stats.h"

static const struct ranks_plan plan = {.word = "histogram", .value = RANKS_MEAN, .has_bins = 1};

RANKS_PLUGIN(plan)
