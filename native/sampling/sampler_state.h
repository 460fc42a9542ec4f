/*
 * What a sampler holds: shared by the thread that reads rings (sampler.c) and what becomes of each
 * record (ring_records.c).
 */
#ifndef GNOMON_SAMPLING_SAMPLER_STATE_H
#define GNOMON_SAMPLING_SAMPLER_STATE_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>

#include "clock_ns.h"
#include "kept_stacks.h"
#include "kernel_chains.h"
#include "processes.h"
#include "sample_file.h"
#include "sampled_events.h"
#include "sampled_stack.h"
#include "sampler.h"
#include "signal_events.h"
#include "thread_times.h"
#include "wait_look.h"
#include "waiting_events.h"
#include "waits.h"
#include "wakes.h"

/* On so many CPUs a thread may be about to leave for the last time. */
#define EXITED 64u

struct gn_sampler {
	struct gn_sampled_events events;
	struct gn_signal_events signals;
	struct gn_waiting_events waiting;
	struct gn_thread_times times;
	struct gn_waits waits;
	struct gn_wakes wakes;
	struct gn_processes processes;
	struct gn_stack_paths paths;
	struct gn_sample_file out;
	struct gn_kept_stacks kept;
	struct gn_sampling_facts facts;
	uint32_t n_processes, n_threads; /* that have a number */
	uint32_t n_written;		 /* samples, whose numbers other records have */
	uint64_t n_beyond; /* stacks beyond their copies when haste was last called for */
	uint64_t haste_until_ns;
	struct pollfd *polled; /* one for each ring, the wish to stop, and the socket */
	uint8_t is_of_waits[GN_SAMPLED_EVENTS_MAX]; /* samples of an event are */
	uint32_t *polled_event; /* which of its CPU's events a ring is polled by */
	pthread_t thread;
	int is_disabled;
	uint16_t wait_event; /* the number of waits among the events of the file */
	/* The events of the plan that take stacks of waits, a bit for each, and which do now. */
	uint64_t stage_events[GN_STAGES];
	enum gn_wait_stage stage;
	struct gn_kernel_chains chains;
	int tells_switches; /* waits are recorded */
	struct {
		uint64_t switches; /* a second, of which more are not recorded; 0: any number */
		uint64_t begin_ns, n, n_samples, n_signalled; /* at the beginning of this second */
	} limit;
	int is_machine;		/* CPUs tell of their threads, and so of the last switch of each */
	int32_t exited[EXITED]; /* the last threads that did, where `is_machine` */
	uint32_t n_exited;
	int is_crowded;	 /* rings were full */
	int looks_often; /* no stacks come with switches */
	char look_buffer[GN_LOOK_BYTES];
	_Alignas(8) char whole[GN_RING_RECORD_MAX];
};

/* One record of a ring. */
void gn_sampler_take(struct gn_sampler *s, const struct perf_event_header *header);

/* `header`: the record that tells of it, NULL: none does. */
void gn_sampler_count_loss(struct gn_sampler *s, const struct perf_event_header *header,
			   enum gn_loss_kind kind, uint64_t count);

/* A thread that runs already, or waits. */
void gn_sampler_begin_waits(struct gn_sampler *s, int32_t tid);

/* Writes what is left of the waits of a thread that ends, or of the recording. */
void gn_sampler_end_waits(struct gn_sampler *s, int32_t tid, uint64_t time_ns);

#endif
