/*
 * The signal of overflows: which one it is, and whose descriptor sent it.
 *
 * A perf event whose descriptor has O_ASYNC sends a signal at each overflow (perf_event_open(2),
 * "Overflow handling"; F_SETSIG and F_SETOWN_EX in fcntl(2)). A real-time signal is queued, one for
 * each overflow, and says by its si_fd which event it was.
 */
#ifndef GNOMON_COUNTERS_OVERFLOW_SIGNAL_H
#define GNOMON_COUNTERS_OVERFLOW_SIGNAL_H

#include <stdint.h>

/* What a descriptor's signals go to; part of a larger struct. */
struct gn_signal_target {
	void (*notify)(struct gn_signal_target *target, void *context);
};

/*
 * Takes a real-time signal that the program does not use, once a process, and takes it again where
 * somebody has since put a handler there: that one then gets what is not ours. The number, or
 * -EAGAIN: none is free.
 */
int gn_overflow_signal(void);

/* The signals of fd go to `target`, in thread tid. 0 or a negative errno. */
int gn_overflow_publish(int fd, int tid, struct gn_signal_target *target);

/* Nothing of fd goes anywhere any more; another thread's call that lasts is waited for. */
void gn_overflow_withdraw(int fd, int is_own_thread);

/* The instruction that a signal interrupted; 0: this architecture is not known. */
uint64_t gn_interrupted_address(const void *context);

#endif
