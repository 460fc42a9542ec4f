#include "tick_rate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bare_ticks.h"

#define NS_PER_S 1e9
/* Of less the noise of reading both clocks is more than a hundredth. */
#define LEAST_NS 20000u

static int uses_counter;
static uint64_t first_ticks, first_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int gn_tick_rate_begin(void)
{
	const char *wish = getenv("GNOMON_CLOCK");

	if (first_ns)
		return uses_counter;
	uses_counter = !(wish && !strcmp(wish, "vdso")) && gn_clock_counter_is_usable();
	first_ticks = gn_bare_ticks(uses_counter);
	first_ns = now_ns();
	return uses_counter;
}

double gn_tick_rate_hz(void)
{
	uint64_t ticks, ns;

	if (!uses_counter)
		return NS_PER_S;
	do {
		ticks = gn_bare_ticks(1);
		ns = now_ns();
	} while (ns - first_ns < LEAST_NS);
	return (double)(ticks - first_ticks) / (double)(ns - first_ns) * NS_PER_S;
}
