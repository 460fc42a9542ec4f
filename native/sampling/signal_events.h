/*
 * Events for processes that read their own frames at each sample: the same as of all others, but
 * each sample is followed by a signal to its thread. A process asks for them, and to stop them
 * before it executes another program, through a socket; while they are open they stand for the
 * other events of the process, whose samples are left out.
 */
#ifndef GNOMON_SAMPLING_SIGNAL_EVENTS_H
#define GNOMON_SAMPLING_SIGNAL_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "sampled_events.h"

/* What is asked, a message of 4 bytes; the answer is 0 or a negative errno, of 4 bytes. */
enum gn_signal_request { GN_SIGNAL_BEGIN = 1, GN_SIGNAL_END };

/* perf_event_attr.sig_data, which the handler finds in its siginfo_t. */
#define GN_SIGNAL_DATA 0x676e6f6d6f6e0001u

struct gn_signal_process;

struct gn_signal_events {
	int socket; /* it listens; -1: nobody asks */
	struct perf_event_attr attr[GN_SAMPLED_EVENTS_MAX];
	uint32_t n_events;
	int *cpu;
	const struct gn_sampled_events *events; /* of all, whose rings these use */
	struct gn_signal_process *first;
	struct gn_event_number *number; /* by `id` */
	uint32_t n_numbers, room;
};

/* 0 or -ENOMEM. The socket stays the caller's. */
int gn_signal_events_begin(struct gn_signal_events *signals, int socket,
			   const struct gn_sampling_plan *plan,
			   const struct gn_sampled_events *events);
void gn_signal_events_end(struct gn_signal_events *signals);

/* Answers whoever asks at the socket. */
void gn_signal_events_answer(struct gn_signal_events *signals);

/* Whether a sample is of such an event, and of which. */
int gn_signal_events_number(const struct gn_signal_events *signals, uint64_t id, uint32_t *event);

/* Whether a process has such events at a time, so that a sample of another one is left out. */
int gn_signal_events_cover(const struct gn_signal_events *signals, int32_t pid, uint64_t time_ns);

void gn_signal_events_disable(const struct gn_signal_events *signals);

#endif
