/* The largest value of all tasks that counted the same, and which task has it. */
#include "ranks.h"

static const struct ranks_plan plan = {.word = "maximum", .value = RANKS_MAXIMUM};

RANKS_PLUGIN(plan)
