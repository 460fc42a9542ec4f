/*
 * Nanoseconds of clock reads, interleaved.
 *
 *	bench_clocks ROUNDS	a line for each round: vDSO, gn_clock_ns, gn_clock_virtual_ns
 */
#include <gnomon/clock.h>
#include <stdio.h>
#include <stdlib.h>

#include "now.h"

#define CALLS 500000

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 20;
	volatile uint64_t sink = 0;

	if (gn_clock_init() < 0)
		return 1;
	for (int round = 0; round < rounds; round++) {
		struct timespec t;
		double at[4];

		at[0] = now_ns();
		for (int i = 0; i < CALLS; i++) {
			clock_gettime(CLOCK_MONOTONIC_RAW, &t);
			sink += (uint64_t)t.tv_nsec;
		}
		at[1] = now_ns();
		for (int i = 0; i < CALLS; i++)
			sink += gn_clock_ns();
		at[2] = now_ns();
		for (int i = 0; i < CALLS / 10; i++)
			sink += gn_clock_virtual_ns();
		at[3] = now_ns();
		printf("%.2f %.2f %.2f\n", (at[1] - at[0]) / CALLS, (at[2] - at[1]) / CALLS,
		       (at[3] - at[2]) / (CALLS / 10));
	}
	return 0;
}
