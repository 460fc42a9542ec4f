/* A clock of the system in nanoseconds. */
#ifndef GNOMON_SAMPLING_CLOCK_NS_H
#define GNOMON_SAMPLING_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull

static inline uint64_t gn_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
