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
	int socket;				/* it listens; -1: nobody asks */
	const struct gn_sampled_events *events; /* of all, whose rings these use */
	struct gn_signal_process *first;
	struct gn_event_numbers numbers;
};

/* Who asks, and waits for an answer. */
struct gn_signal_asker {
	int connection;
	int32_t pid;
	uint32_t request; /* enum gn_signal_request, or nonsense */
};

/* The socket stays the caller's. */
void gn_signal_events_begin(struct gn_signal_events *signals, int socket,
			    const struct gn_sampled_events *events);
void gn_signal_events_end(struct gn_signal_events *signals);

/* Whether somebody asks. Each has to be answered, which ends the connection. */
int gn_signal_events_accept(const struct gn_signal_events *signals, struct gn_signal_asker *asker);
void gn_signal_events_answer(const struct gn_signal_asker *asker, int32_t answer);

/*
 * For the threads of a process, in place of those that it had. `tells_tasks`: no other event tells
 * what the process maps, forks and executes. 0 or a negative errno.
 */
int gn_signal_events_open(struct gn_signal_events *signals, int32_t pid, int tells_tasks);
void gn_signal_events_stop(struct gn_signal_events *signals, int32_t pid);

/* Whether a process has such events at a time, so that a sample of another one is left out. */
int gn_signal_events_cover(const struct gn_signal_events *signals, int32_t pid, uint64_t time_ns);

void gn_signal_events_disable(const struct gn_signal_events *signals);
/* Those of the plan whose bits are set. */
void gn_signal_events_switch(const struct gn_signal_events *signals, uint64_t off, uint64_t on);

#endif
