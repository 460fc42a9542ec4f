/* The counter behind gn_clock_ns() without ordering: a few nanoseconds early or late. */
#ifndef GNOMON_CORE_BARE_TICKS_H
#define GNOMON_CORE_BARE_TICKS_H

#include <gnomon/clock.h>
#include <stdint.h>

/* uses_counter: gn_clock_source() is the counter of this machine; else these are nanoseconds. */
static inline uint64_t gn_bare_ticks(int uses_counter)
{
#if defined(__x86_64__)
	if (__builtin_expect(uses_counter, 1))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(uses_counter, 1)) {
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	(void)uses_counter;
	return gn_clock_ns();
}

#endif
