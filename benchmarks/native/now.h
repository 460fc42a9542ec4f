/* The benchmarks' own clock. */
#ifndef GNOMON_BENCHMARKS_NOW_H
#define GNOMON_BENCHMARKS_NOW_H

#include <time.h>

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

#endif
