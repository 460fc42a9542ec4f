/* Waiting for other ranks: the longer, the longer it has been waited. */
#include "backoff.h"

#include <time.h>

#include "own_calls.h"

#define NS_PER_S 1000000000
#define PAUSE_LEAST 500000  /* ns */
#define PAUSE_MOST 20000000 /* ns */
#define PAUSE_SHARE 16	    /* of what has been waited already */

int64_t gn_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void gn_backoff(int64_t since_ns)
{
	int64_t ns = (gn_monotonic_ns() - since_ns) / PAUSE_SHARE;

	if (ns < PAUSE_LEAST)
		ns = PAUSE_LEAST;
	if (ns > PAUSE_MOST)
		ns = PAUSE_MOST;
	gn_pause(ns);
}
