/*
 * Overflows on their way from the kernel to a handler or a histogram.
 *
 * A handler is called by a signal at each overflow. The address is that of the interrupted context,
 * unless the name asks for a precise one, or the data's is wanted: those stand in the kernel's
 * record, in a ring. A histogram needs no signal each time, which is most of what an overflow
 * costs: records gather in the ring, which is emptied at each tick of the timer and at the end. Not
 * of events that could fill it in between: neither the kernel's limit
 * (kernel.perf_event_max_sample_rate) nor a shortest period holds for those that it counts by
 * itself.
 */
#include "overflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HISTOGRAM_PAGES 8
#define HANDLER_PAGES 1

/* A sample of ours: PERF_SAMPLE_IP, and PERF_SAMPLE_ADDR where it was asked for. */
struct sample {
	struct perf_event_header header;
	uint64_t address;
	uint64_t data_address;
};

/* --- delivery: runs in a signal handler ------------------------------------------------------- */

/* xorshift64: Marsaglia, Xorshift RNGs, 2003. */
static uint64_t next_random(struct gn_watch *watch)
{
	watch->random ^= watch->random << 13;
	watch->random ^= watch->random >> 7;
	watch->random ^= watch->random << 17;
	return watch->random;
}

/* Between half of the threshold and 1.5 of it. */
static uint64_t random_period(struct gn_watch *watch)
{
	const uint64_t threshold = (uint64_t)watch->threshold;
	const uint64_t period = threshold - threshold / 2 + next_random(watch) % (threshold + 1);

	return period ? period : 1;
}

/* Neither a PMU nor a timer makes it overflow, but the kernel where it happens. */
static int is_of_kernel(const struct gn_watch *watch)
{
	const struct gn_event_spec *spec = &watch->event->spec[0];

	return spec->type == PERF_TYPE_TRACEPOINT ||
	       (spec->type == PERF_TYPE_SOFTWARE && spec->config != PERF_COUNT_SW_CPU_CLOCK &&
		spec->config != PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * Linux 6.18 lets an event of the kernel's overflow at once when its period is changed while it is
 * on: perf_swevent_start() sets no new one.
 */
static void change_period(struct gn_watch *watch)
{
	const int is_off = is_of_kernel(watch);

	watch->period = random_period(watch);
	if (watch->flags & GN_OVERFLOW_SOFTWARE)
		return;
	if (is_off)
		ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(watch->fd, PERF_EVENT_IOC_PERIOD, &watch->period);
	if (is_off)
		ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void deliver(struct gn_watch *watch, uint64_t address, uint64_t data_address, void *context)
{
	const struct gn_overflow overflow = {
		.set = watch->state->set->handle,
		.event = watch->index,
		.address = address,
		.data_address = data_address,
		.weight = watch->period,
		.context = context,
	};

	watch->overflows++;
	if (watch->flags & GN_OVERFLOW_RANDOM)
		change_period(watch);
	if (watch->handler)
		watch->handler(&overflow, watch->data);
	else
		gn_histogram_add(&watch->histogram,
				 watch->flags & GN_OVERFLOW_DATA ? data_address : address,
				 watch->flags & GN_PROFIL_WEIGHTED ? overflow.weight : 1);
}

/* Everything up to where the kernel is; 0: there was nothing. */
static int take_records(struct gn_watch *watch, void *context)
{
	const struct perf_event_header *record;
	int taken = 0;

	gn_ring_look(&watch->ring);
	while ((record = gn_ring_next(&watch->ring, watch->whole))) {
		const struct sample *sample = (const struct sample *)(const void *)record;
		const int has_data =
			watch->flags & GN_OVERFLOW_DATA && record->size >= sizeof(struct sample);

		taken = 1;
		if (record->type == PERF_RECORD_SAMPLE &&
		    record->size >= offsetof(struct sample, data_address)) {
			const uint64_t address = sample->address;
			const uint64_t data_address = has_data ? sample->data_address : 0;

			/* Before the handler, which may take long: the ring goes on. */
			gn_ring_pass(&watch->ring, record);
			deliver(watch, address, data_address, context);
		} else {
			gn_ring_pass(&watch->ring, record);
		}
	}
	return taken;
}

void gn_watch_drain(struct gn_watch *watch, void *context)
{
	if (!watch->ring.page)
		return;
	/* Who is interrupted in it comes to these records by itself. */
	do {
		if (atomic_exchange(&watch->is_draining, 1))
			return;
		take_records(watch, context);
		atomic_store(&watch->is_draining, 0);
		gn_ring_look(&watch->ring);
	} while (watch->ring.head != watch->ring.tail);
}

static void on_event(struct gn_signal_target *target, void *context)
{
	struct gn_watch *watch = (struct gn_watch *)target;

	/* A signal that was blocked comes when it may, after the run perhaps. */
	if (!atomic_load_explicit(&watch->state->is_live, memory_order_acquire))
		return;
	if (watch->ring.page)
		gn_watch_drain(watch, context);
	else
		deliver(watch, gn_interrupted_address(context), 0, context);
}

static void compare_count(struct gn_watch *watch, void *context)
{
	const int64_t count = watch->state->counts[watch->index];

	if (count == GN_NO_COUNT || count < watch->deadline)
		return;
	deliver(watch, gn_interrupted_address(context), 0, context);
	/* As PAPI has it: several thresholds between two ticks are one overflow. */
	watch->deadline = count > INT64_MAX - (int64_t)watch->period
				  ? INT64_MAX
				  : count + (int64_t)watch->period;
}

static void on_tick(struct gn_signal_target *target, void *context)
{
	struct gn_overflow_state *state =
		(struct gn_overflow_state *)((char *)target -
					     offsetof(struct gn_overflow_state, tick));

	if (!atomic_load_explicit(&state->is_live, memory_order_acquire))
		return;
	if (state->n && !(state->watch[0]->flags & GN_OVERFLOW_SOFTWARE)) {
		for (int w = 0; w < state->n; w++)
			gn_watch_drain(state->watch[w], context);
	} else if (!state->peek(state->set, state->scratch, state->counts)) {
		for (int w = 0; w < state->n; w++)
			compare_count(state->watch[w], context);
	}
}

/* --- what is watched -------------------------------------------------------------------------- */

/* Whether its records may gather, instead of being told one by one. */
static int may_gather(const struct gn_watch *watch)
{
	return !watch->handler && !is_of_kernel(watch) &&
	       !(watch->flags & (GN_OVERFLOW_RANDOM | GN_OVERFLOW_SOFTWARE));
}

static int needs_ring(const struct gn_watch *watch)
{
	return watch->precise || watch->flags & GN_OVERFLOW_DATA || may_gather(watch);
}

static uint64_t ring_bytes(const struct gn_watch *watch)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) *
	       (may_gather(watch) ? HISTOGRAM_PAGES : HANDLER_PAGES);
}

struct gn_watch *gn_overflow_watch(const struct gn_event_set *set, const struct gn_event *event)
{
	for (int w = 0; set->overflow && w < set->overflow->n; w++) {
		if (set->overflow->watch[w]->event == event)
			return set->overflow->watch[w];
	}
	return NULL;
}

void gn_watch_free(struct gn_watch *watch)
{
	if (!watch)
		return;
	gn_histogram_end(&watch->histogram);
	free(watch->whole);
	free(watch);
}

/* What the kernel's events are to be like, in room that is there. */
static void set_sampling(struct gn_overflow_state *state)
{
	state->sampling.n = 0;
	for (int w = 0; w < state->n; w++) {
		const struct gn_watch *watch = state->watch[w];
		struct gn_event_spec spec = watch->event->spec[0];

		if (watch->flags & GN_OVERFLOW_SOFTWARE)
			continue;
		spec.period = (uint64_t)watch->threshold;
		spec.precise = (uint32_t)watch->precise;
		spec.sample_type = PERF_SAMPLE_IP;
		spec.sample_type |= watch->flags & GN_OVERFLOW_DATA ? PERF_SAMPLE_ADDR : 0;
		spec.watermark = may_gather(watch) ? (uint32_t)ring_bytes(watch) : 0;
		state->sampling.event[state->sampling.n].spec = spec;
		state->sampling.event[state->sampling.n++].asked = watch->asked;
	}
}

static int reserve(struct gn_overflow_state *state, int n)
{
	struct gn_watch **watch = realloc(state->watch, (size_t)n * sizeof(struct gn_watch *));
	void *event = NULL;

	if (watch) {
		state->watch = watch;
		event = realloc(state->sampling.event, (size_t)n * sizeof(*state->sampling.event));
	}
	if (event)
		state->sampling.event = event;
	return event ? 0 : -ENOMEM;
}

int gn_overflow_put(struct gn_overflow_state *state, const struct gn_event *event,
		    struct gn_watch *watch, struct gn_watch **before)
{
	int w = 0;

	*before = NULL;
	while (w < state->n && state->watch[w]->event != event)
		w++;
	if (w == state->n) {
		if (!watch)
			return 0;
		if (reserve(state, state->n + 1))
			return -ENOMEM;
		state->watch[state->n++] = watch;
	} else {
		*before = state->watch[w];
		state->watch[w] = watch ? watch : state->watch[--state->n];
	}
	set_sampling(state);
	return 0;
}

/* --- where signals go ------------------------------------------------------------------------- */

static int is_own_thread(const struct gn_event_set *set)
{
	/* In a forked child nobody else is there. */
	return set->epoch != gn_epoch() || gn_is_self(set->epoch, set->tid);
}

static void disarm(const struct gn_event_set *set, struct gn_watch *watch)
{
	if (watch->fd >= 0)
		gn_overflow_withdraw(watch->fd, is_own_thread(set));
	watch->fd = -1;
	/* A child does not inherit the mapping. */
	if (set->epoch == gn_epoch())
		gn_ring_unmap(&watch->ring);
	watch->ring.page = NULL;
}

static void close_tick(struct gn_overflow_state *state)
{
	if (state->tick_fd < 0)
		return;
	gn_overflow_withdraw(state->tick_fd, is_own_thread(state->set));
	close(state->tick_fd);
	state->tick_fd = -1;
}

static int map(struct gn_watch *watch, int fd)
{
	int error;

	if (!watch->whole)
		watch->whole = malloc(GN_RING_RECORD_MAX);
	if (!watch->whole)
		return -ENOMEM;
	error = gn_ring_map(&watch->ring, fd, ring_bytes(watch));
	if (error)
		watch->ring.page = NULL;
	return error;
}

static int arm_event(const struct gn_event_set *set, struct gn_watch *watch)
{
	const struct gn_member *member = &set->member[watch->index];
	const struct gn_native *native = &set->plan.native[set->at[member->first]];
	const int fd = set->plan.target[0].group[native->group]->fd[native->index];
	int error = needs_ring(watch) ? map(watch, fd) : 0;

	if (error)
		return error;
	watch->target.notify = on_event;
	/* A descriptor that signals does so at each overflow, whatever its watermark. */
	if (!may_gather(watch))
		error = gn_overflow_publish(fd, set->tid, &watch->target);
	if (error)
		gn_ring_unmap(&watch->ring);
	else
		watch->fd = fd;
	return error;
}

/* A descriptor that ticks; where only user mode may be sampled, not while the kernel works. */
static int open_tick(const struct gn_event_set *set)
{
	struct gn_event_spec clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.period = GN_OVERFLOW_TICK_NS,
		.sample_type = PERF_SAMPLE_IP,
	};
	const int pid = gn_is_self(set->epoch, set->tid) ? 0 : set->tid;
	struct perf_event_attr attr;
	int fd;

	do {
		gn_attr_init(&attr, &clock, 0);
		attr.disabled = 1;
		fd = gn_perf_open(&attr, pid, -1, -1);
		if (clock.exclude)
			break;
		clock.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR;
	} while (fd == -EACCES || fd == -EPERM);
	return fd;
}

static int arm_tick(struct gn_overflow_state *state)
{
	const struct gn_event_set *set = state->set;
	int error;

	/* Their number follows the events of the set. */
	free(state->counts);
	free(state->scratch);
	state->counts = calloc((size_t)set->n_members, sizeof(*state->counts));
	state->scratch = calloc((size_t)set->plan.n_natives, 2 * sizeof(*state->scratch));
	if (!state->counts || !state->scratch)
		return -ENOMEM;
	if (state->tick_fd >= 0)
		return 0;
	state->tick_fd = open_tick(set);
	if (state->tick_fd < 0)
		return state->tick_fd;
	state->tick.notify = on_tick;
	error = gn_overflow_publish(state->tick_fd, set->tid, &state->tick);
	if (error)
		close_tick(state);
	return error;
}

/* Where an event is in the set; -1: it was taken out. */
static int index_of(const struct gn_event_set *set, const struct gn_event *event)
{
	for (int m = 0; m < set->n_members; m++) {
		if (set->member[m].event == event)
			return m;
	}
	return -1;
}

static void drop_removed(struct gn_event_set *set)
{
	struct gn_overflow_state *state = set->overflow;

	for (int w = state->n - 1; w >= 0; w--) {
		struct gn_watch *watch = state->watch[w];

		watch->index = index_of(set, watch->event);
		if (watch->index >= 0)
			continue;
		disarm(set, watch);
		state->watch[w] = state->watch[--state->n];
		gn_watch_free(watch);
	}
}

int gn_overflow_arm(struct gn_event_set *set)
{
	struct gn_overflow_state *state = set->overflow;
	int is_timed = 0, error = 0;

	if (!state)
		return 0;
	drop_removed(set);
	set_sampling(state);
	for (int w = 0; !error && w < state->n; w++) {
		struct gn_watch *watch = state->watch[w];
		const int is_software = watch->flags & GN_OVERFLOW_SOFTWARE;

		is_timed |= is_software || may_gather(watch);
		if (!is_software && watch->fd < 0)
			error = arm_event(set, watch);
	}
	if (!error && is_timed)
		error = arm_tick(state);
	else
		close_tick(state);
	state->error = error;
	return error;
}

void gn_overflow_disarm(struct gn_event_set *set)
{
	for (int w = 0; set->overflow && w < set->overflow->n; w++)
		disarm(set, set->overflow->watch[w]);
}

void gn_overflow_forget(struct gn_event_set *set)
{
	struct gn_overflow_state *state = set->overflow;

	if (!state)
		return;
	gn_overflow_disarm(set);
	close_tick(state);
	for (int w = 0; w < state->n; w++)
		gn_watch_free(state->watch[w]);
	free(state->watch);
	free(state->sampling.event);
	free(state->scratch);
	free(state->counts);
	free(state);
	set->overflow = NULL;
}

/* --- a run ------------------------------------------------------------------------------------ */

static int prepare(struct gn_watch *watch)
{
	watch->overflows = 0;
	watch->histogram.outside = 0;
	watch->lost = -1;
	watch->period = watch->flags & GN_OVERFLOW_RANDOM ? random_period(watch)
							  : (uint64_t)watch->threshold;
	watch->deadline = (int64_t)watch->period;
	if (watch->flags & GN_OVERFLOW_SOFTWARE)
		return 0;
	/* The first overflow of a run is due after a whole threshold. */
	return ioctl(watch->fd, PERF_EVENT_IOC_PERIOD, &watch->period) ? -errno : 0;
}

int gn_overflow_start(struct gn_overflow_state *state)
{
	const int number = gn_overflow_signal();
	int error = number < 0 ? number : state->error;

	for (int w = 0; !error && w < state->n; w++)
		error = prepare(state->watch[w]);
	if (!error && state->tick_fd >= 0)
		error = ioctl(state->tick_fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
	state->was_reset = 0;
	atomic_store(&state->is_live, !error);
	return error;
}

void gn_overflow_pause(struct gn_overflow_state *state)
{
	if (state->tick_fd >= 0)
		ioctl(state->tick_fd, PERF_EVENT_IOC_DISABLE, 0);
	atomic_store(&state->is_live, 0);
}

void gn_overflow_stop(struct gn_overflow_state *state)
{
	const struct gn_event_set *set = state->set;

	for (int w = 0; w < state->n; w++) {
		struct gn_watch *watch = state->watch[w];
		const struct gn_native *native =
			&set->plan.native[set->at[set->member[watch->index].first]];
		const uint64_t due = native->count.value / (uint64_t)watch->threshold;

		gn_watch_drain(watch, NULL);
		if (watch->flags & (GN_OVERFLOW_SOFTWARE | GN_OVERFLOW_RANDOM) || state->was_reset)
			continue;
		watch->lost = due > watch->overflows ? (int64_t)(due - watch->overflows) : 0;
	}
}
