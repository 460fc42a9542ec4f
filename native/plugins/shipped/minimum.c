/* The smallest value of all tasks that counted the same, and which task has it. */
#include "group_stats.h"

static const struct ranks_plan plan = {.word = "minimum", .value = RANKS_MINIMUM};

RANKS_PLUGIN(plan)
