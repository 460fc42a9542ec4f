#include "thread_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_wanted(const struct gn_sampling_plan *plan)
{
	for (uint32_t i = 0; i < plan->n_events; i++)
		if (plan->event[i].counts_more)
			return plan->target[0] >= 0;
	return 0;
}

static int allocate(struct gn_thread_times *times, const struct gn_sampling_plan *plan)
{
	const size_t n = (size_t)plan->n_targets * plan->n_cpus;

	times->n_cpus = plan->n_cpus;
	times->n_targets = plan->n_targets;
	times->fd = malloc(n * sizeof(*times->fd));
	times->target = calloc(plan->n_targets, sizeof(*times->target));
	times->told_ns = calloc(plan->n_targets, sizeof(*times->told_ns));
	for (size_t i = 0; times->fd && i < n; i++)
		times->fd[i] = -1;
	if (!times->fd || !times->target || !times->told_ns)
		return -ENOMEM;
	memcpy(times->target, plan->target, plan->n_targets * sizeof(*times->target));
	return 0;
}

/* It counts, and takes no samples, but its records are as those of the events that do. */
static int open_clock(const struct gn_sampling_plan *plan, pid_t target, int cpu)
{
	const struct gn_event_spec clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR,
	};
	struct perf_event_attr attr;

	gn_attr_init(&attr, &clock, GN_INHERIT | GN_INHERIT_STAT);
	attr.read_format = 0;
	attr.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.disabled = attr.enable_on_exec = !!plan->starts_at_exec;
	attr.size = gn_attr_size(&attr);
	return gn_perf_open(&attr, target, cpu, -1);
}

static int open_target(struct gn_thread_times *times, const struct gn_sampling_plan *plan,
		       const struct gn_sampled_events *events, uint32_t target)
{
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const int ring = gn_sampled_events_ring_fd(events, cpu);
		int fd, failed;

		if (ring < 0)
			continue;
		fd = open_clock(plan, plan->target[target], plan->cpu[cpu]);
		if (fd == -ESRCH)
			continue;
		if (fd < 0)
			return fd;
		times->fd[(size_t)target * plan->n_cpus + cpu] = fd;
		failed = gn_join_ring(fd, ring, &times->numbers, target);
		if (failed)
			return failed;
	}
	return 0;
}

int gn_thread_times_begin(struct gn_thread_times *times, const struct gn_sampling_plan *plan,
			  const struct gn_sampled_events *events)
{
	int failed;

	memset(times, 0, sizeof(*times));
	if (!is_wanted(plan))
		return 0;
	failed = allocate(times, plan);
	for (uint32_t target = 0; !failed && target < plan->n_targets; target++)
		failed = open_target(times, plan, events, target);
	if (failed)
		gn_thread_times_close(times);
	return failed;
}

void gn_thread_times_close(struct gn_thread_times *times)
{
	if (times->fd)
		gn_close_events(times->fd, times->n_targets * times->n_cpus);
	gn_event_numbers_free(&times->numbers);
	free(times->fd);
	free(times->target);
	free(times->told_ns);
	memset(times, 0, sizeof(*times));
}

static void write_time(struct gn_sample_file *out, int32_t tid, uint64_t ns)
{
	const struct gn_sample_time record = {.counted_ns = ns, .tid = tid};

	if (ns)
		gn_sample_append(out, GN_SAMPLE_TIME, &record);
}

void gn_thread_times_add(struct gn_thread_times *times, struct gn_sample_file *out, int32_t tid,
			 uint64_t id, uint64_t counted_ns)
{
	uint32_t target;

	if (!gn_event_numbers_find(&times->numbers, id, &target))
		return;
	times->told_ns[target] += counted_ns;
	write_time(out, tid, counted_ns);
}

/* Of a target and all that it created, on all CPUs. */
static uint64_t whole_of(const struct gn_thread_times *times, uint32_t target)
{
	uint64_t sum = 0, counted;

	for (uint32_t cpu = 0; cpu < times->n_cpus; cpu++) {
		const int fd = times->fd[(size_t)target * times->n_cpus + cpu];

		if (fd >= 0 && read(fd, &counted, sizeof(counted)) == sizeof(counted))
			sum += counted;
	}
	return sum;
}

void gn_thread_times_write(const struct gn_thread_times *times, struct gn_sample_file *out)
{
	for (uint32_t target = 0; target < times->n_targets; target++) {
		const uint64_t whole = whole_of(times, target), told = times->told_ns[target];

		write_time(out, times->target[target], whole > told ? whole - told : 0);
	}
}
