#include "sampled_events.h"

#include <errno.h>
#include <gnomon/unwind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* A ring has room for some samples at least. */
#define RING_SAMPLES_LEAST 3u
/* With room for fewer of them, signalled samples have no more stack than others. */
#define RING_SIGNALLED_LEAST 48u

/* What each sample has. */
static uint64_t sample_type(const struct gn_sampling_plan *plan, enum gn_stack_part part)
{
	uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

	if (part != GN_STACK_OF_USER)
		type |= PERF_SAMPLE_CALLCHAIN;
	if (part == GN_STACK_OF_KERNEL || gn_unwind_own_machine() < 0)
		return type;
	type |= PERF_SAMPLE_REGS_USER;
	return plan->stack_bytes ? type | PERF_SAMPLE_STACK_USER : type;
}

static int leads(const struct gn_sampling_plan *plan, uint32_t event)
{
	for (uint32_t i = 0; i < plan->n_events; i++)
		if (i != event && plan->event[i].spec.leader == (int32_t)event)
			return 1;
	return 0;
}

/* The kernel wants the members of a group to have what its leader has, but for branches: events of
 * software are refused with these. */
static void describe_member(struct perf_event_attr *attr)
{
	attr->sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = 0;
	attr->freq = 0;
	attr->sample_freq = 0;
	attr->disabled = attr->enable_on_exec = 0;
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 0;
}

void gn_sampled_events_attr(struct perf_event_attr *attr, const struct gn_sampling_plan *plan,
			    uint32_t event)
{
	const struct gn_sampled_event *sampled = &plan->event[event];
	const uint32_t leader = (uint32_t)sampled->spec.leader;
	const int is_machine = plan->target[0] < 0;
	const int machine = gn_unwind_own_machine();

	gn_attr_init(attr, &sampled->spec, is_machine ? 0 : GN_INHERIT);
	attr->read_format = 0;
	attr->sample_type = sample_type(plan, sampled->part) | plan->event[leader].more;
	/*
	 * Asked how many events each stands for, the kernel would sample each fault or hit of a
	 * tracepoint, whatever the period. (perf_swevent_event() in Linux, kernel/events/core.c)
	 */
	if (plan->event[leader].is_frequency || plan->event[leader].period == 1)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (leads(plan, leader)) {
		attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		attr->sample_type |= PERF_SAMPLE_READ;
	}
	/* Those of user code need no more rights than its samples. */
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	attr->precise_ip = sampled->precise & 3;
	attr->sample_id_all = 1;
	attr->freq = !!sampled->is_frequency;
	attr->sample_freq = sampled->period;
	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		attr->sample_regs_user = gn_unwind_perf_mask((enum gn_unwind_machine)machine);
		attr->sample_stack_user = plan->stack_bytes;
	}
	attr->exclude_callchain_user = 1;
	attr->exclude_idle |= is_machine;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = !!plan->starts_at_exec;
	attr->enable_on_exec = !!plan->starts_at_exec;
	attr->watermark = 1; /* at half a ring, which 0 stands for */
	if (sampled->stage) {
		attr->disabled = 1;
		attr->enable_on_exec = 0;
	}
	attr->context_switch = !!sampled->tells_switches;
	/* One event tells what the tasks do. */
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = event == 0;
	if (leader != event)
		describe_member(attr);
	attr->size = gn_attr_size(attr);
}

/*
 * When two threads with the same events switch, the kernel may exchange their contexts and then the
 * counts of events with inherit_stat one by one, in the order of two lists which differ where
 * events were opened in between: counts of another observer would go astray. One event that is not
 * inherited forbids the exchange (see perf.c of the core).
 */
static int open_anchor(pid_t pid)
{
	const struct gn_event_spec dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR,
	};
	struct perf_event_attr attr;

	gn_attr_init(&attr, &dummy, 0);
	attr.disabled = 1;
	return gn_perf_open(&attr, pid, -1, -1);
}

/* --- rings ------------------------------------------------------------------------------------ */

int gn_sampled_events_ring_fd(const struct gn_sampled_events *events, uint32_t cpu)
{
	for (uint32_t i = 0; i < events->fds_per_cpu; i++) {
		const int fd = events->fd[cpu * events->fds_per_cpu + i];

		if (fd >= 0)
			return fd;
	}
	return -1;
}

static void unmap_rings(struct gn_sampled_events *events)
{
	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++)
		gn_ring_unmap(&events->ring[cpu]);
}

static int map_rings(struct gn_sampled_events *events, uint64_t bytes, int *cpu_failed)
{
	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++) {
		const int fd = gn_sampled_events_ring_fd(events, cpu);
		const int failed = fd < 0 ? 0 : gn_ring_map(&events->ring[cpu], fd, bytes);

		if (failed) {
			*cpu_failed = (int)cpu;
			unmap_rings(events);
			return failed;
		}
	}
	return 0;
}

/* All rings of the largest size that the kernel grants for each of them (its limit: EPERM). */
static int map_largest(struct gn_sampled_events *events, const struct gn_sampling_plan *plan,
		       struct gn_sampling_failure *failure)
{
	const uint64_t least = RING_SAMPLES_LEAST * ((uint64_t)plan->stack_bytes + 1024);
	int result = -EINVAL, cpu = 0;

	for (uint64_t bytes = plan->ring_bytes; bytes >= least; bytes /= 2) {
		events->ring_bytes = bytes;
		result = map_rings(events, bytes, &cpu);
		if (result != -EPERM && result != -ENOMEM)
			break;
	}
	events->signalled_stack_bytes =
		events->ring_bytes / RING_SIGNALLED_LEAST < plan->signalled_stack_bytes
			? plan->stack_bytes
			: plan->signalled_stack_bytes;
	failure->step = GN_STEP_MAP;
	failure->cpu = plan->cpu[cpu];
	return result;
}

int gn_join_ring(int fd, int ring, struct gn_event_numbers *numbers, uint32_t number)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0)
		return -errno;
	return gn_event_numbers_add(numbers, fd, number);
}

static int redirect(const struct gn_sampled_events *events)
{
	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++) {
		const int into = gn_sampled_events_ring_fd(events, cpu);

		for (uint32_t i = 0; i < events->fds_per_cpu; i++) {
			const int fd = events->fd[cpu * events->fds_per_cpu + i];

			if (fd >= 0 && fd != into && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into) < 0)
				return -errno;
		}
	}
	return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

int gn_sampled_events_open_one(const struct gn_sampled_events *events, struct perf_event_attr *attr,
			       uint32_t event, pid_t target, int cpu, const int *fd)
{
	const uint32_t leader = events->leader[event];

	if (leader == event)
		return gn_perf_open(attr, target, cpu, -1);
	return fd[leader] < 0 ? -ESRCH : gn_perf_open(attr, target, cpu, fd[leader]);
}

static int open_events(struct gn_sampled_events *events, const struct gn_sampling_plan *plan,
		       struct gn_sampling_failure *failure)
{
	uint32_t next = 0, n_open = 0;
	int gone = -ESRCH;

	failure->step = GN_STEP_OPEN;
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		for (uint32_t target = 0; target < plan->n_targets; target++) {
			for (uint32_t event = 0; event < plan->n_events; event++, next++) {
				const int fd = gn_sampled_events_open_one(
					events, &events->attr[event], event, plan->target[target],
					plan->cpu[cpu], &events->fd[next - event]);

				events->fd[next] = fd < 0 ? -1 : fd;
				n_open += fd >= 0;
				/* A thread that has ended, a CPU that was taken off. */
				if (fd == -ESRCH || fd == -ENODEV)
					gone = fd;
				else if (fd < 0) {
					failure->event = event;
					failure->cpu = plan->cpu[cpu];
					return fd;
				}
			}
		}
	}
	return n_open ? 0 : gone;
}

static int number_events(struct gn_sampled_events *events)
{
	for (uint32_t i = 0; i < events->n_fds; i++) {
		const int fd = events->fd[i];
		const int failed =
			fd < 0 ? 0
			       : gn_event_numbers_add(&events->numbers, fd, i % events->n_events);

		if (failed)
			return failed;
	}
	return 0;
}

static int allocate(struct gn_sampled_events *events, const struct gn_sampling_plan *plan)
{
	const uint64_t n = (uint64_t)plan->n_cpus * plan->n_targets * plan->n_events;

	memset(events, 0, sizeof(*events));
	events->anchor = -1;
	if (!n || n > INT32_MAX)
		return -EINVAL;
	events->n_cpus = plan->n_cpus;
	events->n_events = plan->n_events;
	events->n_fds = (uint32_t)n;
	events->fds_per_cpu = plan->n_targets * plan->n_events;
	events->target = plan->starts_at_exec ? plan->target[0] : -1;
	events->fd = malloc(n * sizeof(*events->fd));
	events->cpu = malloc(plan->n_cpus * sizeof(*events->cpu));
	events->attr = calloc(plan->n_events, sizeof(*events->attr));
	events->leader = calloc(plan->n_events, sizeof(*events->leader));
	events->ring = calloc(plan->n_cpus, sizeof(*events->ring));
	for (uint32_t i = 0; events->fd && i < events->n_fds; i++)
		events->fd[i] = -1;
	if (!events->fd || !events->cpu || !events->attr || !events->leader || !events->ring)
		return -ENOMEM;
	memcpy(events->cpu, plan->cpu, plan->n_cpus * sizeof(*events->cpu));
	for (uint32_t event = 0; event < plan->n_events; event++) {
		const int32_t leader = plan->event[event].spec.leader;

		if (leader < 0 || (uint32_t)leader > event ||
		    plan->event[leader].spec.leader != leader)
			return -EINVAL;
		events->leader[event] = (uint32_t)leader;
		gn_sampled_events_attr(&events->attr[event], plan, event);
		if (plan->event[event].stage)
			events->off |= UINT64_C(1) << event;
		if (plan->event[event].part == GN_STACK_OF_KERNEL)
			events->of_kernel |= UINT64_C(1) << event;
		else if (plan->event[event].part == GN_STACK_OF_USER)
			events->of_user |= UINT64_C(1) << event;
	}
	return 0;
}

int gn_sampled_events_open(struct gn_sampled_events *events, const struct gn_sampling_plan *plan,
			   struct gn_sampling_failure *failure)
{
	int result = allocate(events, plan);

	memset(failure, 0, sizeof(*failure));
	if (!result && plan->target[0] >= 0)
		events->anchor = open_anchor(plan->target[0]);
	if (!result)
		result = open_events(events, plan, failure);
	if (!result)
		result = map_largest(events, plan, failure);
	if (!result)
		result = redirect(events);
	if (!result)
		result = number_events(events);
	if (result)
		gn_sampled_events_close(events);
	return result;
}

void gn_disable_events(const int *fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
}

void gn_switch_events(const int *fd, uint32_t n, uint32_t n_events, uint64_t off, uint64_t on)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t event = UINT64_C(1) << i % n_events;

		if (fd[i] >= 0 && event & off)
			ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
		else if (fd[i] >= 0 && event & on)
			ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	}
}

void gn_close_events(int *fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

void gn_sampled_events_disable(const struct gn_sampled_events *events)
{
	gn_disable_events(events->fd, events->n_fds);
}

void gn_sampled_events_close(struct gn_sampled_events *events)
{
	if (events->ring)
		unmap_rings(events);
	if (events->fd)
		gn_close_events(events->fd, events->n_fds);
	gn_close_events(&events->anchor, 1);
	gn_event_numbers_free(&events->numbers);
	free(events->fd);
	free(events->cpu);
	free(events->attr);
	free(events->leader);
	free(events->ring);
	memset(events, 0, sizeof(*events));
	events->anchor = -1;
}
