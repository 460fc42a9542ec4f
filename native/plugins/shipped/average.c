/* The mean over the tasks that did about the same in about the same time. */
#include "group_stats.h"

static const struct ranks_plan plan = {.word = "average", .value = RANKS_MEAN, .is_even = 1};

RANKS_PLUGIN(plan)
