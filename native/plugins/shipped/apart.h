/* The former name, for aggregators of users. */
#include "independent_ranks.h"
