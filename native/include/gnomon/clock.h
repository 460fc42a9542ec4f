/*
 * Time, in nanoseconds of CLOCK_MONOTONIC_RAW, at the cost of reading one register.
 *
 * The processor's own counter is read where it runs at one rate on all CPUs and through all idle
 * states; elsewhere the same time comes from clock_gettime(). No function here except
 * gn_clock_init() allocates, locks, waits or uses stdio, and all of them may be called in signal
 * handlers and after fork().
 */
#ifndef GNOMON_CLOCK_H
#define GNOMON_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the time comes from; the numbers are part of the raw file format. */
enum gn_clock_source {
	GN_CLOCK_VDSO = 1,   /* clock_gettime(CLOCK_MONOTONIC_RAW) */
	GN_CLOCK_TSC = 2,    /* x86-64: the time-stamp counter */
	GN_CLOCK_CNTVCT = 3, /* arm64: the virtual counter */
};

/*
 * Chooses the source and calibrates it, which takes about a millisecond the first time; later
 * calls, from whatever thread, return at once. Until the first call the time comes from the vDSO.
 * The environment variable GNOMON_CLOCK=vdso keeps it there.
 * Returns 0, or a negative errno where the kernel has no CLOCK_MONOTONIC_RAW.
 */
int gn_clock_init(void);

/*
 * Nanoseconds of CLOCK_MONOTONIC_RAW; never smaller than any value that another call, in whatever
 * thread, returned before this one began.
 */
uint64_t gn_clock_ns(void);

/* The source in use now: a counter that proves unreliable is given up for the vDSO. */
enum gn_clock_source gn_clock_source(void);

/* The counter that this build can read, whether it is used or not; GN_CLOCK_VDSO if it has none. */
enum gn_clock_source gn_clock_counter(void);

/* "tsc", "cntvct" or "vdso"; "unknown" for a number that is none of them. */
const char *gn_clock_source_name(enum gn_clock_source source);

/* Whether gn_clock_ticks() reads a counter. */
int gn_clock_has_counter(void);

/* Ticks of gn_clock_ticks() per second, as measured so far. */
double gn_clock_hz(void);

/* The bare counter, to measure in its own cycles; nanoseconds where no counter can be used. */
uint64_t gn_clock_ticks(void);

/* CPU time, in nanoseconds, that the calling thread or the whole process has used. */
uint64_t gn_clock_virtual_ns(void);
uint64_t gn_clock_process_ns(void);

#ifdef __cplusplus
}
#endif

#endif
