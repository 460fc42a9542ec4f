/* The largest value of all tasks that counted the same, and which task has it. */
#include "group_stats.h"

static const struct ranks_plan plan = {.word = "maximum", .value = RANKS_MAXIMUM};

RANKS_PLUGIN(plan)
