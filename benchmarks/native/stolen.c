/*
 * Spins on the time-stamp counter for SECONDS and prints the share of time in which it did not:
 * that interrupts took, profilers' among them. What takes longer than a fifth of a millisecond is
 * another task's turn, and is left out of both. As a library it does so in a thread of Python.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GAP_NS 300.0
#define TURN_NS 200000.0

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

double share_stolen(double seconds);

double share_stolen(double seconds)
{
	const double begun_ns = now_ns();
	const uint64_t begun = ticks();
	uint64_t before, stolen = 0, others = 0;
	double ns_per_tick;

	while (now_ns() - begun_ns < 2e7)
		;
	ns_per_tick = (now_ns() - begun_ns) / (double)(ticks() - begun);
	before = ticks();
	const uint64_t first = before, end = before + (uint64_t)(1e9 * seconds / ns_per_tick);
	const uint64_t gap = (uint64_t)(GAP_NS / ns_per_tick),
		       turn = (uint64_t)(TURN_NS / ns_per_tick);

	while (before < end) {
		const uint64_t now = ticks();

		if (now - before > turn)
			others += now - before;
		else if (now - before > gap)
			stolen += now - before;
		before = now;
	}
	return (double)stolen / (double)(before - first - others);
}

int main(int argc, char **argv)
{
	printf("%.9f\n", share_stolen(argc > 1 ? atof(argv[1]) : 1));
	return 0;
}
