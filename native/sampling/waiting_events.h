/*
 * The events of a program that is sampled by events of its own (signal_events.h): they take no
 * samples of it, but begin with the next program that it or a process that it forks executes. Were
 * the usual ones to go on beside its own, it would be interrupted twice as often.
 *
 * Only the program that was started can have them, as long as it is the only process: events that
 * are inherited cannot be stopped in one process of several. A process that it forks without
 * executing a program has to ask for events of its own; where it cannot have them, it gets events
 * like those of all others, until it executes a program.
 */
#ifndef GNOMON_SAMPLING_WAITING_EVENTS_H
#define GNOMON_SAMPLING_WAITING_EVENTS_H

#include <stdint.h>

#include "sampled_events.h"

/* None: all zero. */
struct gn_waiting_events {
	int *fd; /* by process, CPU and event, -1: the CPU is off, or the process has ended */
	uint32_t n_fds;
};

/* For the target of `events`, into their rings. 0 or a negative errno, then there are none. */
int gn_waiting_events_open(struct gn_waiting_events *waiting, struct gn_sampled_events *events);

/* For a process with one thread that the target forked, to take samples of it and of those that it
 * forks from now on. 0 or a negative errno, then there are none for it. */
int gn_waiting_events_replace(struct gn_waiting_events *waiting, struct gn_sampled_events *events,
			      int32_t pid);

void gn_waiting_events_disable(const struct gn_waiting_events *waiting);
void gn_waiting_events_close(struct gn_waiting_events *waiting);

#endif
