/* The former name, for aggregators of users. */
#include "group_stats.h"
