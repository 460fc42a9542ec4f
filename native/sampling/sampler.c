#include "sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "group_values.h"
#include "kept_stacks.h"
#include "kernel_names.h"
#include "processes.h"
#include "record_words.h"
#include "sample_file.h"
#include "sample_jumps.h"
#include "sample_record.h"
#include "sampled_stack.h"
#include "signal_events.h"
#include "thread_times.h"
#include "wait_look.h"
#include "waiting_events.h"
#include "waits.h"
#include "wakes.h"

#define NICE (-10)

#define NS_PER_S 1000000000ull

/* How long what is in a ring may wait that is not half full. */
#define WAIT_MS 250

/* What stacks have beyond their copies is read before it changes; so long after the last of them.
 */
#define HASTE_MS 10
#define HASTE_NS NS_PER_S

/* How often threads that wait are looked at where no stacks come with their switches: a wait is met
 * by chance, the more likely the longer it is. */
#define LOOK_MS 25

/*
 * Rings are read up to this long ago: what another CPU began to write before is there by then, and
 * records come in the order of their times.
 */
#define SETTLED_NS 2000000ull

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
	struct pollfd *polled;	/* one for each ring, the wish to stop, and the socket */
	uint8_t is_of_switch[GN_SAMPLED_EVENTS_MAX]; /* samples of an event are of waits */
	uint32_t *polled_event; /* which of its CPU's events a ring is polled by */
	pthread_t thread;
	int is_disabled;
	uint16_t switch_event; /* with its number, where `tells_switches` */
	int tells_switches;
	uint64_t switches_most, switches_told, switches_ns;
	int looks_often; /* no stacks come with switches */
	char look_buffer[GN_LOOK_BYTES];
	_Alignas(8) char whole[GN_RING_RECORD_MAX];
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* --- records ---------------------------------------------------------------------------------- */

static uint64_t before_end(const struct perf_event_header *header, size_t bytes)
{
	return *(const uint64_t *)((const char *)header + header->size - bytes);
}

static void count_loss(struct gn_sampler *s, const struct perf_event_header *header,
		       enum gn_loss_kind kind, uint64_t count)
{
	const struct gn_sample_loss loss = {
		.time_ns =
			header ? before_end(header, GN_TIME_BEFORE_END) : now_ns(CLOCK_MONOTONIC),
		.count = count,
		.kind = kind,
		.cpu = header ? (uint32_t)before_end(header, GN_CPU_BEFORE_END) : UINT32_MAX,
	};

	if (kind != GN_LOSS_THROTTLED && kind != GN_LOSS_SWITCHES)
		s->facts.lost += count;
	gn_sample_append(&s->out, GN_SAMPLE_LOSS, &loss);
}

static void write_process(struct gn_sampler *s, const struct gn_process *process)
{
	struct gn_sample_process record = {.process = process->number, .pid = process->pid};

	memcpy(record.name, process->name, sizeof(record.name));
	gn_sample_append(&s->out, GN_SAMPLE_PROCESS, &record);
}

static void write_thread(struct gn_sampler *s, const struct gn_thread *thread)
{
	struct gn_sample_thread record = {
		.thread = thread->number, .process = thread->process->number, .tid = thread->tid};

	memcpy(record.name, thread->name, sizeof(record.name));
	gn_sample_append(&s->out, GN_SAMPLE_THREAD, &record);
}

/* Tasks get numbers with their first samples: most of many short ones have none. */
static void number_thread(struct gn_sampler *s, struct gn_thread *thread)
{
	if (thread->process->number == GN_UNNUMBERED) {
		thread->process->number = s->n_processes++;
		write_process(s, thread->process);
	}
	if (thread->number == GN_UNNUMBERED) {
		thread->number = s->n_threads++;
		write_thread(s, thread);
	}
}

/* What the members of a group have counted since the thread's last sample, each as a record. */
static void write_values(struct gn_sampler *s, struct gn_thread *thread,
			 const struct gn_sample_record *taken,
			 const struct gn_event_numbers *numbers)
{
	uint64_t since[GN_SAMPLED_EVENTS_MAX];
	const uint32_t n = taken->n_values < GN_SAMPLED_EVENTS_MAX ? (uint32_t)taken->n_values : 0;

	if (gn_group_values_take(&thread->group_values, taken->value, n, since)) {
		count_loss(s, NULL, GN_LOSS_MEMORY, 1);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct gn_sample_value value = {.value = since[i], .sample = s->n_written};

		if (since[i] && gn_event_numbers_find(numbers, taken->value[i].id, &value.event))
			gn_sample_append(&s->out, GN_SAMPLE_VALUE, &value);
	}
}

static void write_data(struct gn_sampler *s, const struct gn_sample_record *taken)
{
	const struct gn_sample_data data = {
		.address = taken->data_address,
		.source = taken->data_source,
		.latency = taken->weight,
		.sample = s->n_written,
	};

	gn_sample_append(&s->out, GN_SAMPLE_DATA, &data);
}

static void on_sample(struct gn_sampler *s, const struct perf_event_header *header)
{
	struct gn_sample_sample sample = {0};
	struct gn_sample_record taken;
	const struct gn_event_numbers *numbers = &s->signals.numbers;
	const uint64_t id = gn_sample_record_id(header);
	struct gn_thread *thread;
	uint64_t type;
	uint32_t event;

	if (gn_event_numbers_find(numbers, id, &event)) {
		sample.flags = GN_SAMPLE_SIGNALLED;
	} else {
		numbers = &s->events.numbers;
		if (!gn_event_numbers_find(numbers, id, &event))
			event = 0;
	}
	type = s->events.attr[event].sample_type;
	if (gn_sample_record_read(&taken, header, type)) {
		count_loss(s, NULL, GN_LOSS_SPOILT, 1);
		return;
	}
	if (!sample.flags && gn_signal_events_cover(&s->signals, taken.pid, taken.time_ns)) {
		s->facts.left_out++;
		return;
	}
	/* Without a chain of the kernel's own there is still the address. */
	if (!taken.stack.n_kernel &&
	    (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		taken.stack.kernel = &taken.ip;
		taken.stack.n_kernel = 1;
	}
	thread = gn_processes_thread(&s->processes, taken.pid, taken.tid);
	if (!thread) {
		count_loss(s, NULL, GN_LOSS_MEMORY, 1);
		return;
	}
	number_thread(s, thread);
	sample.time_ns = taken.time_ns;
	sample.weight =
		type & PERF_SAMPLE_PERIOD ? taken.period : s->events.attr[event].sample_period;
	sample.thread = thread->number;
	sample.cpu = (uint16_t)taken.cpu;
	sample.event = (uint16_t)event;
	gn_stack_paths_add(&s->paths, thread->process, thread->tid, &taken.stack, &sample);
	if (s->kept.file && taken.stack.abi)
		gn_kept_stacks_add(&s->kept, thread->process, &taken, s->paths.frame,
				   s->paths.n_frames, sample.end);
	if (s->is_of_switch[event]) {
		if (s->tells_switches)
			gn_waits_sample(&s->waits, thread, &sample);
		return;
	}
	gn_waits_release(&s->waits);
	gn_sample_append(&s->out, GN_SAMPLE_SAMPLE, &sample);
	if (type & PERF_SAMPLE_READ)
		write_values(s, thread, &taken, numbers);
	if (type & PERF_SAMPLE_ADDR)
		write_data(s, &taken);
	gn_sample_jumps_write(&s->paths, thread->process, &taken, s->n_written);
	s->n_written++;
	s->facts.samples++;
}

static void on_wake(struct gn_sampler *s, const struct gn_wake *wake)
{
	struct gn_thread *thread = gn_processes_find_thread(&s->processes, wake->tid);

	if (thread)
		gn_waits_wake(thread, wake->time_ns, wake->waker, wake->is_interrupt);
}

/* The thread is that of the record itself, also where the record names another one. */
static int on_switch(struct gn_sampler *s, const struct perf_event_header *header)
{
	const uint64_t task = before_end(header, GN_TASK_BEFORE_END);
	const uint64_t time_ns = before_end(header, GN_TIME_BEFORE_END);
	struct gn_thread *thread;
	int32_t own[2];

	if (!s->tells_switches)
		return 0;
	memcpy(own, &task, sizeof(own));
	/* A CPU that is idle, or a thread that has ended. */
	if (own[0] <= 0 || own[1] <= 0)
		return 0;
	thread = gn_processes_thread(&s->processes, own[0], own[1]);
	if (!thread)
		return -ENOMEM;
	if (header->misc & PERF_RECORD_MISC_SWITCH_OUT) {
		gn_waits_leave(&s->waits, thread, time_ns,
			       header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	} else {
		number_thread(s, thread);
		gn_waits_return(&s->waits, thread, time_ns);
	}
	return 0;
}

static int on_mapping(struct gn_sampler *s, struct gn_words *words)
{
	struct gn_unwind_mapping mapping = {0};
	uint32_t task[2], device[2], rights[2];

	gn_words_take_two(words, task);
	mapping.start = gn_words_take_one(words);
	mapping.length = gn_words_take_one(words);
	mapping.file_offset = gn_words_take_one(words);
	gn_words_take_two(words, device);
	mapping.inode = gn_words_take_one(words);
	mapping.generation = gn_words_take_one(words);
	gn_words_take_two(words, rights);
	mapping.device = makedev(device[0], device[1]);
	mapping.prot = rights[0];
	mapping.path = (const char *)words->next;
	/* The path ends with a zero byte before the last words (sample_id_all). */
	if (words->is_short || words->n < 1 || !memchr(mapping.path, 0, 8 * words->n))
		return 0;
	return gn_processes_map(&s->processes, (int32_t)task[0], (int32_t)task[1], &mapping);
}

static int on_name(struct gn_sampler *s, const struct perf_event_header *header,
		   struct gn_words *words)
{
	struct gn_thread *thread;
	char name[GN_TASK_NAME] = "";
	uint32_t task[2];

	gn_words_take_two(words, task);
	if (words->is_short)
		return 0;
	strncpy(name, (const char *)words->next,
		sizeof(name) - 1 < 8 * words->n ? sizeof(name) - 1 : 8 * words->n);
	thread = gn_processes_name(&s->processes, (int32_t)task[0], (int32_t)task[1], name,
				   !!(header->misc & PERF_RECORD_MISC_COMM_EXEC));
	if (!thread)
		return -ENOMEM;
	if (s->tells_switches)
		gn_waits_create(&s->waits, thread, before_end(header, GN_TIME_BEFORE_END), 0);
	if (thread->number != GN_UNNUMBERED)
		write_thread(s, thread);
	if (thread->process->number != GN_UNNUMBERED && task[0] == task[1])
		write_process(s, thread->process);
	return 0;
}

/* A thread whose time will be told has a number, without samples, too. */
static void number_ended(struct gn_sampler *s, uint32_t pid, uint32_t tid)
{
	struct gn_thread *thread;

	if (!s->times.n_targets)
		return;
	thread = gn_processes_thread(&s->processes, (int32_t)pid, (int32_t)tid);
	if (thread)
		number_thread(s, thread);
}

/* What a thread that has ended counted of an event. */
static void on_count(struct gn_sampler *s, const struct perf_event_header *header,
		     struct gn_words *words)
{
	uint64_t counted;
	uint32_t task[2];

	gn_words_take_two(words, task);
	counted = gn_words_take_one(words);
	if (!words->is_short)
		gn_thread_times_add(&s->times, &s->out, (int32_t)task[1],
				    before_end(header, sizeof(uint64_t)), counted);
}

static void end_waits(struct gn_sampler *s, int32_t tid, uint64_t time_ns)
{
	struct gn_thread *thread = gn_processes_find_thread(&s->processes, tid);

	if (!thread || !thread->waits)
		return;
	number_thread(s, thread);
	gn_waits_exit(&s->waits, thread, time_ns);
}

static int on_fork(struct gn_sampler *s, const struct perf_event_header *header,
		   struct gn_words *words, int is_exit)
{
	uint32_t task[2], parent[2], thread[2];
	int failed;

	/* pid, ppid; tid, ptid */
	gn_words_take_two(words, task);
	gn_words_take_two(words, thread);
	if (words->is_short)
		return 0;
	parent[0] = task[1];
	parent[1] = thread[1];
	if (is_exit) {
		number_ended(s, task[0], thread[0]);
		end_waits(s, (int32_t)thread[0], before_end(header, GN_TIME_BEFORE_END));
		gn_processes_exit(&s->processes, (int32_t)task[0], (int32_t)thread[0]);
		return 0;
	}
	failed = gn_processes_fork(&s->processes, (int32_t)task[0], (int32_t)thread[0],
				   (int32_t)parent[0], (int32_t)parent[1]);
	if (!failed && s->tells_switches)
		gn_waits_create(&s->waits,
				gn_processes_find_thread(&s->processes, (int32_t)thread[0]),
				before_end(header, GN_TIME_BEFORE_END), 1);
	return failed;
}

static void on_record(struct gn_sampler *s, const struct perf_event_header *header)
{
	struct gn_words words = gn_words_of(header);
	int failed = 0;

	if (header->type == PERF_RECORD_SAMPLE) {
		struct gn_wake wake;

		if (gn_wakes_take(&s->wakes, header, &wake))
			on_wake(s, &wake);
		else
			on_sample(s, header);
		return;
	}
	/* Behind every other record stand the words of sample_id_all. */
	if (words.n < 4)
		return;
	words.n -= 4;
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		failed = on_mapping(s, &words);
		break;
	case PERF_RECORD_COMM:
		failed = on_name(s, header, &words);
		break;
	case PERF_RECORD_FORK:
		failed = on_fork(s, header, &words, 0);
		break;
	case PERF_RECORD_EXIT:
		failed = on_fork(s, header, &words, 1);
		break;
	case PERF_RECORD_READ:
		on_count(s, header, &words);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		failed = on_switch(s, header);
		break;
	case PERF_RECORD_LOST:
		gn_words_take_one(&words);
		count_loss(s, header, GN_LOSS_SAMPLES, gn_words_take_one(&words));
		break;
	case PERF_RECORD_THROTTLE:
		count_loss(s, header, GN_LOSS_THROTTLED, 1);
		break;
	default:
		break;
	}
	if (failed)
		count_loss(s, header, GN_LOSS_MEMORY, 1);
}

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

	s->paths.read_ns = now_ns(CLOCK_MONOTONIC);
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

		on_record(s, record);
		gn_ring_pass(ring, record);
		next_ns[ring - s->events.ring] = next_time(ring);
	}
	for (uint32_t i = 0; i < s->events.n_cpus; i++) {
		spoilt += s->events.ring[i].spoilt;
		s->events.ring[i].spoilt = 0;
	}
	if (spoilt)
		count_loss(s, NULL, GN_LOSS_SPOILT, spoilt);
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
			count_loss(s, NULL, GN_LOSS_PROCESS, 1);
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
			sample.event = s->switch_event;
			gn_waits_look(thread, &look, has_stack ? &sample : NULL);
		}
	}
}

/* At the end of the recording: of threads that still run, and those that wait. */
static void end_all_waits(struct gn_sampler *s)
{
	const uint64_t time_ns = now_ns(CLOCK_MONOTONIC);

	for (uint32_t page = 0; s->tells_switches && page < GN_TASK_PAGES; page++)
		for (uint32_t i = 0; s->processes.thread[page] && i < GN_TASKS_PER_PAGE; i++)
			if (s->processes.thread[page][i])
				end_waits(s, s->processes.thread[page][i]->tid, time_ns);
	gn_waits_tell(&s->waits, time_ns, 1);
}

static void stop_switches(struct gn_sampler *s)
{
	const uint32_t event = s->switch_event;
	struct perf_event_attr *attr = &s->events.attr[event];

	/* Those that are opened from now on, too. */
	attr->context_switch = 0;
	attr->freq = 0;
	attr->sample_period = 0;
	gn_disable_event(s->events.fd, s->events.n_fds, s->events.n_events, event);
	gn_disable_event(s->waiting.fd, s->waiting.n_fds, s->events.n_events, event);
	gn_signal_events_disable_one(&s->signals, event);
	gn_disable_events(s->wakes.fd, s->wakes.n_fds);
}

/* Of programs that switch too often it is not told where they wait, but where they run. */
static void limit_switches(struct gn_sampler *s, uint64_t *next_ns)
{
	const uint64_t elapsed = s->paths.read_ns - s->switches_ns;
	const uint64_t n = s->waits.n - s->switches_told;

	if (!s->switches_most || !s->tells_switches || elapsed < NS_PER_S)
		return;
	if (s->switches_ns && n > s->switches_most * (elapsed / NS_PER_S + 1)) {
		stop_switches(s);
		read_rings(s, next_ns, UINT64_MAX);
		end_all_waits(s);
		s->tells_switches = 0;
		count_loss(s, NULL, GN_LOSS_SWITCHES, n * NS_PER_S / elapsed);
	}
	s->switches_told = s->waits.n;
	s->switches_ns = s->paths.read_ns;
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
		read_rings(s, next_ns, now_ns(CLOCK_MONOTONIC) - SETTLED_NS);
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
	s->facts.cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
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
		.monotonic_ns = now_ns(CLOCK_MONOTONIC),
		.realtime_ns = now_ns(CLOCK_REALTIME),
		.stack_bytes = plan->stack_bytes,
		.n_cpus = plan->n_cpus,
	};
	int result = gn_sample_file_open(&s->out, output->path, output->rank);

	if (result)
		return result;
	gn_sample_append(&s->out, GN_SAMPLE_SETUP, &setup);
	for (uint32_t i = 0; i < plan->n_events; i++)
		gn_sample_append_text(&s->out, GN_SAMPLE_EVENT, i, output->event[i]);
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
	for (uint32_t i = 0; i < plan->n_events; i++) {
		if (!plan->event[i].tells_switches)
			continue;
		s->is_of_switch[i] = 1;
		s->tells_switches = 1;
		s->switch_event = (uint16_t)i;
		s->looks_often = !plan->event[i].period;
	}
	s->switches_most = plan->switches_most;
	/* Who wakes whom is more than some users may know. */
	if (gn_wakes_begin(&s->wakes, plan, &s->events))
		gn_wakes_end(&s->wakes);
	result = gn_waits_begin(&s->waits, &s->out, &s->n_written,
				plan->starts_at_exec ? 0 : now_ns(CLOCK_MONOTONIC));
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
