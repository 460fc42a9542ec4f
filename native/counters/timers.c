/* Timers, over the core's clock. */
#include <stdatomic.h>

#include "error_text.h"

#include "gnomon/clock.h"
#include "gnomon/gnomon.h"

#define NS_PER_S 1e9
#define NS_PER_US 1000

static _Atomic int is_ready;

/* Calibrating takes a millisecond: only who asks for the time waits for it, and only once. */
static inline void make_ready(void)
{
	if (!atomic_load_explicit(&is_ready, memory_order_relaxed)) {
		gn_clock_init();
		atomic_store_explicit(&is_ready, 1, memory_order_relaxed);
	}
}

static int no_cycles(void)
{
	return gn_fail(GN_ECMP, "timer of cycles: no counter of cycles can be read here that "
				"runs at one rate; use the timers of nanoseconds");
}

int64_t gn_real_ns(void)
{
	make_ready();
	return (int64_t)gn_clock_ns();
}

int64_t gn_real_us(void)
{
	return gn_real_ns() / NS_PER_US;
}

int64_t gn_real_cycles(void)
{
	make_ready();
	return gn_clock_has_counter() ? (int64_t)gn_clock_ticks() : no_cycles();
}

int64_t gn_virtual_ns(void)
{
	return (int64_t)gn_clock_virtual_ns();
}

int64_t gn_virtual_us(void)
{
	return gn_virtual_ns() / NS_PER_US;
}

int64_t gn_virtual_cycles(void)
{
	make_ready();
	if (!gn_clock_has_counter())
		return no_cycles();
	return (int64_t)((double)gn_clock_virtual_ns() * (gn_clock_hz() / NS_PER_S));
}

double gn_cycles_hz(void)
{
	make_ready();
	return gn_clock_has_counter() ? gn_clock_hz() : 0;
}
