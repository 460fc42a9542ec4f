/*
 * The bare counter without the millisecond that gn_clock_init() takes to measure it: its rate is
 * known the better the longer it has run. For who counts ticks and tells times afterwards.
 */
#ifndef GNOMON_CORE_TICK_RATE_H
#define GNOMON_CORE_TICK_RATE_H

#include <stdbool.h>

/* Whether the processor's counter may be taken for a clock (clock.c). */
bool gn_clock_counter_is_usable(void);

/* Once: gn_bare_ticks() reads a counter, or else nanoseconds. */
int gn_tick_rate_begin(void);

/* Ticks per second, as far as that can be told since the begin. */
double gn_tick_rate_hz(void);

#endif
