#include "wakes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record_words.h"
#include "sample_record.h"

/* What stands before a tracepoint's own fields: type, flags, preemption count and pid. */
#define FLAGS_AT 2u
/* comm[16] and then the pid. */
#define PID_AT 24u
#define IN_INTERRUPT 0x18u /* TRACE_FLAG_HARDIRQ and SOFTIRQ */

static void begin_attr(struct perf_event_attr *attr, const struct gn_sampling_plan *plan,
		       uint32_t flags)
{
	const struct gn_event_spec waking = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = plan->waking,
	};

	gn_attr_init(attr, &waking, flags);
	attr->read_format = 0;
}

/*
 * Enabled, an event of a thread is delivered when that thread wakes others, too, and is switched
 * with it: twice the cost. Linux delivers one that is not enabled to the thread that is woken, as
 * perf_tp_event_target_task() of kernel/events/core.c does not ask; whether it does is tried out.
 * A thread that sleeps is woken.
 */
static int are_told_to_disabled(const struct gn_sampling_plan *plan)
{
	const struct timespec moment = {.tv_nsec = 1};
	struct perf_event_attr attr;
	uint64_t n = 0;
	int fd;

	begin_attr(&attr, plan, 0);
	attr.disabled = 1;
	fd = gn_perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		return 0;
	nanosleep(&moment, NULL);
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		n = 0;
	close(fd);
	return n > 0;
}

static int open_event(const struct gn_sampling_plan *plan, pid_t target, int cpu, int is_disabled)
{
	struct perf_event_attr attr;

	begin_attr(&attr, plan, target < 0 ? 0 : GN_INHERIT);
	/* Up to the CPU as in all other samples. */
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.watermark = 1;
	attr.disabled = is_disabled || plan->starts_at_exec;
	attr.enable_on_exec = !is_disabled && plan->starts_at_exec;
	attr.size = gn_attr_size(&attr);
	return gn_perf_open(&attr, target, cpu, -1);
}

int gn_wakes_begin(struct gn_wakes *wakes, const struct gn_sampling_plan *plan,
		   const struct gn_sampled_events *events)
{
	int is_disabled;

	memset(wakes, 0, sizeof(*wakes));
	if (!plan->waking)
		return 0;
	/* Those of a machine have no thread that they are delivered to. */
	is_disabled = plan->target[0] >= 0 && are_told_to_disabled(plan);
	wakes->fd = calloc((size_t)plan->n_targets * plan->n_cpus, sizeof(*wakes->fd));
	if (!wakes->fd)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const int ring = gn_sampled_events_ring_fd(events, cpu);

		for (uint32_t target = 0; ring >= 0 && target < plan->n_targets; target++) {
			const int fd =
				open_event(plan, plan->target[target], plan->cpu[cpu], is_disabled);
			int failed;

			if (fd == -ESRCH)
				continue;
			if (fd < 0)
				return fd;
			wakes->fd[wakes->n_fds++] = fd;
			failed = gn_join_ring(fd, ring, &wakes->numbers, 0);
			if (failed)
				return failed;
		}
	}
	return 0;
}

void gn_wakes_stop(struct gn_wakes *wakes)
{
	if (wakes->fd)
		gn_close_events(wakes->fd, wakes->n_fds);
}

void gn_wakes_end(struct gn_wakes *wakes)
{
	gn_wakes_stop(wakes);
	gn_event_numbers_free(&wakes->numbers);
	free(wakes->fd);
	memset(wakes, 0, sizeof(*wakes));
}

int gn_wakes_take(const struct gn_wakes *wakes, const struct perf_event_header *header,
		  struct gn_wake *wake)
{
	struct gn_words words = gn_words_of(header);
	uint32_t number, task[2], bytes;
	const char *raw;

	if (!gn_event_numbers_find(&wakes->numbers, gn_words_take_one(&words), &number))
		return 0;
	memset(wake, 0, sizeof(*wake));
	gn_words_take_one(&words);
	gn_words_take_two(&words, task);
	wake->time_ns = gn_words_take_one(&words);
	gn_words_take_one(&words);
	/* A number of bytes, and behind it these. */
	if (words.is_short || !words.n)
		return 1;
	raw = (const char *)words.next;
	memcpy(&bytes, raw, sizeof(bytes));
	raw += sizeof(bytes);
	if (bytes < PID_AT + sizeof(wake->tid) || bytes > 8 * words.n - sizeof(bytes))
		return 1;
	wake->waker = (int32_t)task[1];
	wake->is_interrupt = !!(raw[FLAGS_AT] & IN_INTERRUPT);
	memcpy(&wake->tid, raw + PID_AT, sizeof(wake->tid));
	return 1;
}
