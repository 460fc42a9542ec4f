#include "sampler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernel_names.h"
#include "sampler_state.h"

#define NICE (-10)

/* How long what is in a ring may wait that is not half full. */
#define WAIT_MS 250

/* What stacks have beyond their copies is read before it changes; so long after the last of them.
 */
#define HASTE_MS 10
#define HASTE_NS NS_PER_S

/* How often threads that wait are looked at where no stacks come with their switches: a wait is met
 * by chance, the more likely the longer it is. */
#define LOOK_MS 25

/* Of so many waits a second stacks are taken as a whole; of so many at all, and of so many threads
 * read their own frames. */
#define WHOLE_MOST 500u
#define STACKS_MOST 5000u
#define SIGNALS_MOST 1500u

/*
 * Rings are read up to this long ago: what another CPU began to write before is there by then, and
 * records come in the order of their times.
 */
#define SETTLED_NS 2000000ull

/* --- reading ---------------------------------------------------------------------------------- */

/* The ring whose next record is the first of all, NULL if none comes before a time. */
static struct gn_ring *first_ring(struct gn_sampler *s, const uint64_t *next_ns, uint64_t until_ns)
{
	struct gn_ring *first = NULL;

	for (uint32_t i = 0; i < s->events.n_cpus; i++) {
		if (next_ns[i] < until_ns) {
			until_ns = next_ns[i];
			first = &s->events.ring[i];
		}
	}
	return first;
}

static uint64_t next_time(struct gn_ring *ring)
{
	return ring->page ? gn_ring_next_time(ring, GN_SAMPLE_TIME_OFFSET, GN_TIME_BEFORE_END)
			  : UINT64_MAX;
}

/* Reads all rings together up to a time. */
static void read_rings(struct gn_sampler *s, uint64_t *next_ns, uint64_t until_ns)
{
	struct gn_ring *ring;
	uint64_t spoilt = 0;

	s->paths.read_ns = gn_clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < s->events.n_cpus; i++) {
		ring = &s->events.ring[i];
		if (ring->page)
			gn_ring_look(ring);
		/* Better out of order than lost. */
		if (ring->page && ring->head - ring->tail > ring->bytes / 4 * 3)
			until_ns = UINT64_MAX;
	}
	for (uint32_t i = 0; i < s->events.n_cpus; i++)
		next_ns[i] = next_time(&s->events.ring[i]);
	while ((ring = first_ring(s, next_ns, until_ns))) {
		const struct perf_event_header *record = gn_ring_next(ring, s->whole);

		gn_sampler_take(s, record);
		gn_ring_pass(ring, record);
		next_ns[ring - s->events.ring] = next_time(ring);
	}
	for (uint32_t i = 0; i < s->events.n_cpus; i++) {
		spoilt += s->events.ring[i].spoilt;
		s->events.ring[i].spoilt = 0;
	}
	if (spoilt)
		gn_sampler_count_loss(s, NULL, GN_LOSS_SPOILT, spoilt);
}

/*
 * A ring wakes those who wait for any of its events. One whose tasks have all ended is always
 * ready, and the next one takes its place.
 */
static int next_polled(const struct gn_sampler *s, uint32_t cpu)
{
	const uint32_t n = s->events.fds_per_cpu, n_waiting = s->events.n_events;
	uint32_t *event = &s->polled_event[cpu];

	while (++*event < n + n_waiting) {
		const int fd = *event < n      ? s->events.fd[cpu * n + *event]
			       : s->waiting.fd ? s->waiting.fd[cpu * n_waiting + *event - n]
					       : -1;

		if (fd >= 0)
			return fd;
	}
	return -1;
}

static void pass_ended(struct gn_sampler *s)
{
	for (uint32_t cpu = 0; cpu < s->events.n_cpus; cpu++)
		if (s->polled[cpu].revents & (POLLHUP | POLLERR | POLLNVAL))
			s->polled[cpu].fd = next_polled(s, cpu);
}

static void begin_polling(struct gn_sampler *s)
{
	for (uint32_t cpu = 0; cpu < s->events.n_cpus; cpu++) {
		s->polled[cpu] = (struct pollfd){.fd = s->events.fd[cpu * s->events.fds_per_cpu],
						 .events = POLLIN};
		/* The first of its events may be one that was not there. */
		s->polled[cpu].revents = s->polled[cpu].fd < 0 ? POLLHUP : 0;
	}
	pass_ended(s);
}

static void write_cost(struct gn_sampler *s)
{
	const struct gn_sample_cost cost = {s->facts.cpu_ns, s->facts.ring_bytes,
					    s->facts.left_out};

	gn_sample_append(&s->out, GN_SAMPLE_COST, &cost);
}

/* --- programs that ask for events of their own ------------------------------------------------ */

/*
 * Whether the events of the tree can wait instead of going on beside those of a process: only in
 * the program that was started, while it is the only process, with one thread, which waits. After a
 * loss there may be others that nothing is known of.
 */
static int can_wait(const struct gn_sampler *s, const struct gn_process *process)
{
	return process && process->pid == s->events.target && s->processes.n_alive == 1 &&
	       process->n_threads == 1 && !s->facts.lost;
}

static int begin_own_events(struct gn_sampler *s, int32_t pid)
{
	struct gn_process *process = gn_processes_find(&s->processes, pid);
	struct gn_waiting_events waiting = {0};
	const int is_waiting = process && process->is_waiting;
	const int begins_to_wait = !is_waiting && can_wait(s, process) &&
				   !gn_waiting_events_open(&waiting, &s->events);
	const int failed = gn_signal_events_open(&s->signals, pid, is_waiting || begins_to_wait);

	if (begins_to_wait && !failed) {
		gn_sampled_events_disable(&s->events);
		gn_waiting_events_close(&s->waiting);
		s->waiting = waiting;
		process->is_waiting = 1;
	} else if (begins_to_wait) {
		gn_waiting_events_close(&waiting);
	} else if (is_waiting && failed) {
		/* No event is left that takes samples of it. */
		if (gn_waiting_events_replace(&s->waiting, &s->events, pid))
			gn_sampler_count_loss(s, NULL, GN_LOSS_PROCESS, 1);
		else
			process->is_waiting = 0;
	}
	return failed;
}

static void answer_all(struct gn_sampler *s, uint64_t *next_ns)
{
	struct gn_signal_asker asker;

	while (gn_signal_events_accept(&s->signals, &asker)) {
		int32_t answer = 0;

		/* Who asks waits: what it has done is in the rings. */
		read_rings(s, next_ns, UINT64_MAX);
		if (asker.request == GN_SIGNAL_BEGIN)
			answer = begin_own_events(s, asker.pid);
		else if (asker.request == GN_SIGNAL_END)
			gn_signal_events_stop(&s->signals, asker.pid);
		else
			answer = -EPROTO;
		gn_signal_events_answer(&asker, answer);
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

static void disable_all(const struct gn_sampler *s)
{
	gn_sampled_events_disable(&s->events);
	gn_waiting_events_disable(&s->waiting);
	gn_signal_events_disable(&s->signals);
}

/* Threads that have just begun to wait are looked at as long as they do. */
static void look_at_waits(struct gn_sampler *s)
{
	struct gn_thread *thread;

	while ((thread = gn_waits_next(&s->waits))) {
		struct gn_sample_sample sample;
		struct gn_wait_look look;
		int has_stack;

		if (gn_processes_find_thread(&s->processes, thread->tid) != thread)
			continue;
		if (!gn_wait_look_at(thread, &s->paths, s->look_buffer, &look,
				     thread->waits->has_sample ? NULL : &sample, &has_stack)) {
			sample.event = s->wait_event;
			gn_waits_look(thread, &look, has_stack ? &sample : NULL);
		}
	}
}

/* At the end of the recording: of threads that still run, and those that wait. */
static void end_all_waits(struct gn_sampler *s)
{
	const uint64_t time_ns = gn_clock_ns(CLOCK_MONOTONIC);

	for (uint32_t page = 0; s->tells_switches && page < GN_TASK_PAGES; page++)
		for (uint32_t i = 0; s->processes.thread[page] && i < GN_TASKS_PER_PAGE; i++)
			if (s->processes.thread[page][i])
				gn_sampler_end_waits(s, s->processes.thread[page][i]->tid, time_ns);
	gn_waits_tell(&s->waits, time_ns, 1);
}

/* Disables the events of one stage, and enables those of another. */
static void replace_switches(struct gn_sampler *s, uint64_t off, uint64_t on)
{
	struct gn_sampled_events *events = &s->events;
	const uint32_t n = events->n_events;

	gn_switch_events(events->fd, events->n_fds, n, off, on);
	gn_switch_events(s->waiting.fd, s->waiting.n_fds, n, off, on);
	gn_signal_events_switch(&s->signals, off, on);
	events->off = (events->off | off) & ~on;
}

static void begin_stage(struct gn_sampler *s, enum gn_wait_stage stage)
{
	if (stage == s->stage || !s->stage_events[stage])
		return;
	replace_switches(s, s->stage_events[s->stage], s->stage_events[stage]);
	s->stage = stage;
}

/* Of programs that switch too often it is not told where they wait, but where they run. */
static void stop_switches(struct gn_sampler *s, uint64_t *next_ns, uint64_t per_second)
{
	replace_switches(s, s->stage_events[s->stage], 0);
	for (uint32_t i = 0; i < s->events.n_events; i++)
		if (s->is_of_waits[i]) {
			/* Those that are opened from now on, too. */
			s->events.attr[i].context_switch = 0;
			s->events.attr[i].freq = 0;
			s->events.attr[i].sample_period = 0;
		}
	gn_wakes_stop(&s->wakes);
	read_rings(s, next_ns, UINT64_MAX);
	end_all_waits(s);
	s->tells_switches = 0;
	gn_sampler_count_loss(s, NULL, GN_LOSS_SWITCHES, per_second);
}

static void limit_switches(struct gn_sampler *s, uint64_t *next_ns)
{
	const uint64_t elapsed = s->paths.read_ns - s->limit.begin_ns;
	const uint64_t n = s->waits.n - s->limit.n;
	const uint64_t n_samples = s->waits.n_samples - s->limit.n_samples;
	const uint64_t n_signalled = s->waits.n_signalled - s->limit.n_signalled;
	const uint64_t seconds = elapsed / NS_PER_S + 1;

	if (!s->tells_switches)
		return;
	if (s->is_crowded || n_samples > STACKS_MOST * seconds ||
	    n_signalled > SIGNALS_MOST * seconds)
		begin_stage(s, GN_ONE_IN_N);
	else if (s->stage == GN_EACH_WHOLE && n_samples > WHOLE_MOST * seconds)
		begin_stage(s, GN_EACH_APART);
	if (elapsed < NS_PER_S)
		return;
	if (s->stage == GN_EACH_APART && n_samples < WHOLE_MOST / 2)
		begin_stage(s, GN_EACH_WHOLE);
	if (s->limit.switches && s->limit.begin_ns && n > s->limit.switches * seconds)
		stop_switches(s, next_ns, n * NS_PER_S / elapsed);
	s->limit.begin_ns = s->paths.read_ns;
	s->limit.n = s->waits.n;
	s->limit.n_samples = s->waits.n_samples;
	s->limit.n_signalled = s->waits.n_signalled;
}

static int wait_ms(struct gn_sampler *s)
{
	if (s->paths.n_beyond > s->n_beyond) {
		s->n_beyond = s->paths.n_beyond;
		s->haste_until_ns = s->paths.read_ns + HASTE_NS;
	}
	if (s->paths.read_ns < s->haste_until_ns)
		return HASTE_MS;
	return s->looks_often ? LOOK_MS : WAIT_MS;
}

static void *read_until_stopped(void *argument)
{
	struct gn_sampler *s = argument;
	const uint32_t n = s->events.n_cpus;
	uint64_t *next_ns = (uint64_t *)(s->polled_event + 2 * (size_t)n);

	/* Where the program takes all CPUs, rings must not fill; a refusal leaves it to their size.
	 */
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	begin_polling(s);
	while (!s->polled[n].revents) {
		poll(s->polled, n + 2, wait_ms(s));
		if (s->polled[n + 1].revents)
			answer_all(s, next_ns);
		pass_ended(s);
		read_rings(s, next_ns, gn_clock_ns(CLOCK_MONOTONIC) - SETTLED_NS);
		look_at_waits(s);
		gn_waits_tell(&s->waits, s->paths.read_ns, 0);
		limit_switches(s, next_ns);
		/* A full disk: the program goes on, without being interrupted for nothing. */
		if (gn_record_file_status(s->out.file) && !s->is_disabled) {
			disable_all(s);
			s->is_disabled = 1;
		}
	}
	disable_all(s);
	read_rings(s, next_ns, UINT64_MAX);
	end_all_waits(s);
	s->facts.cpu_ns = gn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	write_cost(s);
	gn_thread_times_write(&s->times, &s->out);
	gn_kernel_names_write(&s->paths.tree, &s->out);
	return NULL;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void free_sampler(struct gn_sampler *s)
{
	if (s->polled && s->polled[s->events.n_cpus].fd >= 0)
		close(s->polled[s->events.n_cpus].fd);
	gn_stack_paths_end(&s->paths);
	gn_processes_end(&s->processes);
	gn_waits_end(&s->waits);
	gn_wakes_end(&s->wakes);
	gn_kernel_chains_end(&s->chains);
	gn_sample_file_close(&s->out);
	gn_kept_stacks_close(&s->kept);
	gn_signal_events_end(&s->signals);
	gn_thread_times_close(&s->times);
	gn_waiting_events_close(&s->waiting);
	gn_sampled_events_close(&s->events);
	free(s->polled);
	free(s->polled_event);
	free(s);
}

static int begin_file(struct gn_sampler *s, const struct gn_sampling_plan *plan,
		      const struct gn_sampling_output *output)
{
	const struct gn_sample_setup setup = {
		.monotonic_ns = gn_clock_ns(CLOCK_MONOTONIC),
		.realtime_ns = gn_clock_ns(CLOCK_REALTIME),
		.stack_bytes = plan->stack_bytes,
		.n_cpus = plan->n_cpus,
	};
	int result = gn_sample_file_open(&s->out, output->path, output->rank);

	if (result)
		return result;
	gn_sample_append(&s->out, GN_SAMPLE_SETUP, &setup);
	for (uint32_t i = 0; i < plan->n_events; i++)
		if (!plan->event[i].is_of_waits)
			gn_sample_append_text(&s->out, GN_SAMPLE_EVENT, i, output->event[i]);
	if (output->waits)
		gn_sample_append_text(&s->out, GN_SAMPLE_EVENT, s->wait_event, output->waits);
	if (output->kept)
		result = gn_kept_stacks_open(&s->kept, output->kept, output->rank,
					     output->kept_bytes);
	if (result)
		unlink(output->path);
	return result;
}

static int begin_thread(struct gn_sampler *s)
{
	const uint32_t n = s->events.n_cpus;
	sigset_t all, before;
	int failed;

	s->polled = calloc(n + 2, sizeof(*s->polled));
	/* And behind them the time of each ring's next record. */
	s->polled_event = calloc(n, 2 * sizeof(uint32_t) + sizeof(uint64_t));
	if (!s->polled || !s->polled_event)
		return -ENOMEM;
	s->polled[n].events = s->polled[n + 1].events = POLLIN;
	s->polled[n + 1].fd = s->signals.socket;
	s->polled[n].fd = eventfd(0, EFD_CLOEXEC);
	if (s->polled[n].fd < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&s->thread, NULL, read_until_stopped, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return -failed;
	pthread_setname_np(s->thread, "gnomon-sampler");
	return 0;
}

static void prepare_waits(struct gn_sampler *s, const struct gn_sampling_plan *plan,
			  const struct gn_sampling_output *output)
{
	s->is_machine = plan->target[0] < 0;
	s->tells_switches = !!output->waits;
	for (uint32_t i = 0; i < plan->n_events; i++) {
		s->is_of_waits[i] = !!plan->event[i].is_of_waits;
		if (!plan->event[i].is_of_waits)
			s->wait_event++;
		else if (plan->event[i].stage < GN_STAGES)
			s->stage_events[plan->event[i].stage] |= UINT64_C(1) << i;
	}
	s->looks_often = s->tells_switches && !s->stage_events[GN_EACH_WHOLE];
}

int gn_sampler_start(struct gn_sampler **sampler, const struct gn_sampling_plan *plan,
		     const struct gn_sampling_output *output, struct gn_sampling_failure *failure)
{
	struct gn_sampler *s = calloc(1, sizeof(*s));
	int result;

	memset(failure, 0, sizeof(*failure));
	failure->step = GN_STEP_THREAD;
	if (!s)
		return -ENOMEM;
	result = gn_sampled_events_open(&s->events, plan, failure);
	if (result)
		goto fail;
	gn_signal_events_begin(&s->signals, plan->signal_socket, &s->events);
	result = gn_thread_times_begin(&s->times, plan, &s->events);
	if (result)
		goto fail;
	prepare_waits(s, plan, output);
	s->limit.switches = plan->switches_most;
	/* Who wakes whom is more than some users may know. */
	if (gn_wakes_begin(&s->wakes, plan, &s->events))
		gn_wakes_end(&s->wakes);
	result = gn_waits_begin(&s->waits, &s->out, &s->n_written,
				plan->starts_at_exec ? 0 : gn_clock_ns(CLOCK_MONOTONIC));
	if (result)
		goto fail;
	s->facts.ring_bytes = s->events.ring_bytes;
	failure->step = GN_STEP_FILE;
	result = begin_file(s, plan, output);
	if (result)
		goto fail;
	failure->step = GN_STEP_THREAD;
	result = gn_processes_begin(&s->processes);
	if (!result)
		result = gn_stack_paths_begin(&s->paths, &s->out, s->processes.files);
	for (uint32_t i = 0; !result && s->tells_switches && i < plan->n_targets; i++)
		gn_sampler_begin_waits(s, plan->target[i]);
	if (!result)
		result = begin_thread(s);
	if (result) {
		unlink(output->path);
		if (output->kept)
			unlink(output->kept);
		goto fail;
	}
	*sampler = s;
	return 0;
fail:
	free_sampler(s);
	return result;
}

void gn_sampler_stop(struct gn_sampler *s, struct gn_sampling_facts *facts)
{
	const uint64_t one = 1;

	/* A counter of events takes one more at all times. */
	while (write(s->polled[s->events.n_cpus].fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(s->thread, NULL);
	s->facts.status = gn_record_file_status(s->out.file);
	s->facts.kept = s->kept.n;
	*facts = s->facts;
	free_sampler(s);
}
