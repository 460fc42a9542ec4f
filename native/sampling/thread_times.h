/*
 * The CPU time of each thread, where a clock is sampled in user code alone: without rights no
 * sample is taken in the kernel. Clocks beside those that are sampled count it. A thread that was
 * created meanwhile tells its time at its end; those that were sampled first have what is left.
 */
#ifndef GNOMON_SAMPLING_THREAD_TIMES_H
#define GNOMON_SAMPLING_THREAD_TIMES_H

#include "sample_file.h"
#include "sampled_events.h"

/* None: all zero. */
struct gn_thread_times {
	uint32_t n_cpus, n_targets;
	int *fd; /* by target and CPU, -1: there is none */
	pid_t *target;
	uint64_t *told_ns;		 /* by target: of threads created by it that have ended */
	struct gn_event_numbers numbers; /* of targets */
};

/*
 * Where a clock is sampled so, opens those that count, into the rings of `events`. 0 or a negative
 * errno.
 */
int gn_thread_times_begin(struct gn_thread_times *times, const struct gn_sampling_plan *plan,
			  const struct gn_sampled_events *events);
void gn_thread_times_close(struct gn_thread_times *times);

/* PERF_RECORD_READ: what a thread that has ended counted of the event with an identifier. */
void gn_thread_times_add(struct gn_thread_times *times, struct gn_sample_file *out, int32_t tid,
			 uint64_t id, uint64_t counted_ns);

/* At the end: the threads that were sampled first. */
void gn_thread_times_write(const struct gn_thread_times *times, struct gn_sample_file *out);

#endif
