/*
 * The perf events that are sampled: each of them on each CPU for each target, all of a CPU into one
 * ring. Source: perf_event_open(2).
 */
#ifndef GNOMON_SAMPLING_SAMPLED_EVENTS_H
#define GNOMON_SAMPLING_SAMPLED_EVENTS_H

#include <gnomon/perf.h>
#include <stdint.h>
#include <sys/types.h>

#include "event_numbers.h"
#include "ring.h"

#define GN_SAMPLED_EVENTS_MAX 64u

/*
 * Events of waits by how many there are: the whole stack of each; of each the program's part, and
 * the kernel's of some; the whole stack of one in N.
 */
enum gn_wait_stage { GN_EACH_WHOLE, GN_EACH_APART, GN_ONE_IN_N, GN_STAGES };

enum gn_stack_part { GN_STACK_WHOLE, GN_STACK_OF_USER, GN_STACK_OF_KERNEL };

/*
 * An event with a leader that it is not itself (spec.leader) takes no samples: those of its leader,
 * which comes before it, have what it has counted.
 */
struct gn_sampled_event {
	struct gn_event_spec spec;
	uint64_t period; /* events, or nanoseconds, per sample; samples per second: */
	int is_frequency;
	int counts_more;    /* a clock that counts the modes, too, in which it is not sampled */
	uint64_t more;	    /* PERF_SAMPLE_* besides what each sample has (sample_record.h) */
	uint32_t precise;   /* perf_event_attr.precise_ip */
	int tells_switches; /* when threads leave a CPU and return */
	int is_of_waits;    /* its samples are the stacks of threads that leave a CPU */
	enum gn_wait_stage stage; /* of waits: others than the first are not enabled at once */
	enum gn_stack_part part;  /* of the stack, that its samples have */
};

struct gn_sampling_plan {
	const struct gn_sampled_event *event;
	uint32_t n_events;
	const int *cpu;
	uint32_t n_cpus;
	const pid_t *target; /* threads; -1: the machine */
	uint32_t n_targets;
	int starts_at_exec;		/* sampling begins when the target executes a program */
	uint32_t stack_bytes;		/* to copy with each sample: a multiple of 8 below 64 KiB */
	uint32_t signalled_stack_bytes; /* the same of signal_events.h, where rings are large */
	int signal_socket;	/* where processes ask for signals (signal_events.h); -1: none */
	uint64_t ring_bytes;	/* of each CPU, a power of two; less where the kernel grants less */
	uint64_t waking;	/* number of the tracepoint sched:sched_waking; 0: do without */
	uint64_t switches_most; /* a second: of more the rest is not recorded; 0: any number */
};

/* What could not be done, for the message. */
enum gn_sampling_step { GN_STEP_OPEN, GN_STEP_MAP, GN_STEP_FILE, GN_STEP_THREAD };

struct gn_sampling_failure {
	enum gn_sampling_step step;
	uint32_t event; /* GN_STEP_OPEN: which one */
	int cpu;
};

struct gn_sampled_events {
	int *fd; /* by CPU, target and event */
	uint32_t n_fds;
	uint32_t fds_per_cpu; /* at most: what is not there is -1 */
	struct gn_ring *ring; /* by CPU; of one that is off it is not mapped */
	int *cpu;
	uint32_t n_cpus;
	struct perf_event_attr *attr; /* of each event of the plan, */
	uint32_t *leader;	      /* and which one leads it: most lead themselves */
	uint32_t n_events;
	pid_t target; /* that is started; -1: there are others, or they run already */
	struct gn_event_numbers numbers;
	uint64_t ring_bytes;		/* what the kernel granted */
	uint32_t signalled_stack_bytes; /* that the rings have room for */
	uint64_t off;			/* events that are not enabled: a bit for each */
	uint64_t of_kernel; /* likewise, whose samples have the kernel's part of the stack alone, */
	uint64_t of_user;   /* or the program's */
	int anchor;	    /* forbids the kernel to exchange counts of threads; -1: none */
};

/* 0 or a negative errno, with all closed and why. -ESRCH: no target is there. */
int gn_sampled_events_open(struct gn_sampled_events *events, const struct gn_sampling_plan *plan,
			   struct gn_sampling_failure *failure);
void gn_sampled_events_disable(const struct gn_sampled_events *events);
void gn_sampled_events_close(struct gn_sampled_events *events);

/*
 * Opens an event, as `attr` says, beside those of the same target and CPU that were opened before
 * it: `fd` has their descriptors. -ESRCH where its leader is none of them.
 */
int gn_sampled_events_open_one(const struct gn_sampled_events *events, struct perf_event_attr *attr,
			       uint32_t event, pid_t target, int cpu, const int *fd);

/* The descriptor whose ring a CPU's events write to; -1: the CPU is off. */
int gn_sampled_events_ring_fd(const struct gn_sampled_events *events, uint32_t cpu);

/*
 * Lets an event write into a ring, by the descriptor that has it, and notes which one it is. 0 or a
 * negative errno; the event stays open.
 */
int gn_join_ring(int fd, int ring, struct gn_event_numbers *numbers, uint32_t number);

/* Of all that are open: -1 stands for those that are not. */
void gn_disable_events(const int *fd, uint32_t n);
void gn_close_events(int *fd, uint32_t n);

/* Of `n_events` that stand together in `fd`, those whose bits are set. */
void gn_switch_events(const int *fd, uint32_t n, uint32_t n_events, uint64_t off, uint64_t on);

/* As what an event of a plan is opened. */
void gn_sampled_events_attr(struct perf_event_attr *attr, const struct gn_sampling_plan *plan,
			    uint32_t event);

/*
 * Where the time is: in samples behind header, identifier, ip and tid, in other records before cpu
 * and identifier (sample_id_all).
 */
#define GN_SAMPLE_TIME_OFFSET 32u
#define GN_TIME_BEFORE_END 24u
#define GN_CPU_BEFORE_END 16u
#define GN_TASK_BEFORE_END 32u

#endif
