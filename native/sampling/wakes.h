/*
 * Who wakes threads that wait: the kernel's tracepoint sched:sched_waking, of the threads that are
 * sampled. The kernel delivers it to events of the thread that is woken, whoever does it.
 * Source: Linux, include/trace/events/sched.h (sched_wakeup_template, __perf_task).
 */
#ifndef GNOMON_SAMPLING_WAKES_H
#define GNOMON_SAMPLING_WAKES_H

#include "sampled_events.h"

/* None: all zero. */
struct gn_wakes {
	int *fd; /* by target and CPU, -1: there is none */
	uint32_t n_fds;
	struct gn_event_numbers numbers;
};

struct gn_wake {
	uint64_t time_ns;
	int32_t tid;   /* that is woken */
	int32_t waker; /* the thread that the CPU ran */
	int is_interrupt;
};

/*
 * Opens the tracepoint into the rings of `events`, where the plan has its number. 0 or a negative
 * errno.
 */
int gn_wakes_begin(struct gn_wakes *wakes, const struct gn_sampling_plan *plan,
		   const struct gn_sampled_events *events);
/* There are no more of them; what is in the rings is known still. */
void gn_wakes_stop(struct gn_wakes *wakes);
void gn_wakes_end(struct gn_wakes *wakes);

/* 1 if the sample is of these, with what it tells (its tid is 0 if it is malformed). */
int gn_wakes_take(const struct gn_wakes *wakes, const struct perf_event_header *header,
		  struct gn_wake *wake);

#endif
