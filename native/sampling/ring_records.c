#include "sampler_state.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "group_values.h"
#include "record_words.h"
#include "sample_jumps.h"
#include "sample_record.h"
#include "task_status.h"

static uint64_t before_end(const struct perf_event_header *header, size_t bytes)
{
	return *(const uint64_t *)((const char *)header + header->size - bytes);
}

void gn_sampler_count_loss(struct gn_sampler *s, const struct perf_event_header *header,
			   enum gn_loss_kind kind, uint64_t count)
{
	const struct gn_sample_loss loss = {
		.time_ns = header ? before_end(header, GN_TIME_BEFORE_END)
				  : gn_clock_ns(CLOCK_MONOTONIC),
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
		gn_sampler_count_loss(s, NULL, GN_LOSS_MEMORY, 1);
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

/* Where a thread stands among those that have ended; NULL: it has not. */
static int32_t *exited(struct gn_sampler *s, int32_t tid)
{
	const uint32_t n = s->n_exited < EXITED ? s->n_exited : EXITED;

	for (uint32_t i = 0; i < n; i++)
		if (s->exited[i] == tid)
			return &s->exited[i];
	return NULL;
}

static int read_as(const struct gn_sampler *s, const struct perf_event_header *header,
		   uint32_t event, struct gn_sample_record *taken)
{
	return gn_sample_record_read(taken, header, s->events.attr[event].sample_type);
}

/*
 * Two events of one switch: Linux 6.3 and newer give the second record the number of the first one,
 * and its size besides its own (perf_prepare_sample() does not fill in again what
 * data->sample_flags has). The form tells what it is.
 */
static int read_sample(const struct gn_sampler *s, const struct perf_event_header *header,
		       uint32_t *event, struct gn_sample_record *taken)
{
	const uint64_t apart = s->events.of_kernel | s->events.of_user;
	uint32_t of_kernel;

	if (!(apart >> *event & 1))
		return read_as(s, header, *event, taken);
	of_kernel = (uint32_t)__builtin_ctzll(s->events.of_kernel);
	if (!read_as(s, header, of_kernel, taken) && taken->stack.n_kernel &&
	    taken->stack.kernel[0] == (uint64_t)PERF_CONTEXT_KERNEL) {
		*event = of_kernel;
		return 0;
	}
	*event = (uint32_t)__builtin_ctzll(s->events.of_user);
	return read_as(s, header, *event, taken);
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
	if (read_sample(s, header, &event, &taken)) {
		gn_sampler_count_loss(s, NULL, GN_LOSS_SPOILT, 1);
		return;
	}
	type = s->events.attr[event].sample_type;
	if (!sample.flags && gn_signal_events_cover(&s->signals, taken.pid, taken.time_ns)) {
		s->facts.left_out++;
		return;
	}
	/* Without a chain of the kernel's own there is still the address. */
	if (!taken.stack.n_kernel && type & PERF_SAMPLE_CALLCHAIN &&
	    (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		taken.stack.kernel = &taken.ip;
		taken.stack.n_kernel = 1;
	}
	thread = gn_processes_thread(&s->processes, taken.pid, taken.tid);
	if (!thread) {
		gn_sampler_count_loss(s, NULL, GN_LOSS_MEMORY, 1);
		return;
	}
	if (s->events.of_kernel >> event & 1) {
		if (s->tells_switches && !exited(s, thread->tid))
			gn_waits_kernel(&s->waits, thread, taken.time_ns, taken.stack.kernel,
					taken.stack.n_kernel);
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
	if (s->is_of_waits[event]) {
		sample.event = s->wait_event;
		if (s->tells_switches && !exited(s, thread->tid)) {
			gn_waits_sample(&s->waits, thread, &sample);
			if (thread->waits && !(type & PERF_SAMPLE_CALLCHAIN)) {
				thread->waits->kernel.is_apart = 1;
				thread->waits->kernel.argument = s->paths.argument;
			}
		}
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

/* What the kernel does while a thread waits, as it was told of this wait or of one like it. */
static void add_kernel(struct gn_sampler *s, struct gn_thread *thread)
{
	struct gn_thread_waits *own = thread->waits;
	const struct gn_kernel_chain *chain;
	struct gn_kernel_chain_key key;

	/* Of a thread that is ready to run nothing else is to be known. */
	if (!own || !own->has_sample || !own->kernel.is_apart || own->is_runnable)
		return;
	key = gn_kernel_chain_key(thread->process->number,
				  gn_stack_paths_leaf(&s->paths, own->sample.node),
				  own->kernel.argument);
	if (own->kernel.n)
		gn_kernel_chains_keep(&s->chains, &key, own->kernel.address, own->kernel.n);
	chain = gn_kernel_chains_find(&s->chains, &key);
	if (chain)
		gn_stack_paths_add_kernel(&s->paths, chain->address, chain->n, &own->sample);
	own->kernel.is_apart = 0;
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
	if (exited(s, own[1]))
		return 0;
	thread = gn_processes_thread(&s->processes, own[0], own[1]);
	if (!thread)
		return -ENOMEM;
	if (header->misc & PERF_RECORD_MISC_SWITCH_OUT) {
		gn_waits_leave(&s->waits, thread, time_ns,
			       header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		add_kernel(s, thread);
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

/* A program begins with the thread alone that executes it, and which has the first one's number
 * from then on: nothing tells that its own has ended. Source: Linux, fs/exec.c, de_thread(). */
static void on_exec(struct gn_sampler *s, const struct gn_thread *thread, uint64_t time_ns)
{
	struct gn_thread *other;
	int32_t *first = exited(s, thread->tid);

	if (first)
		*first = 0;
	while ((other = gn_processes_other_thread(&s->processes, thread))) {
		const int32_t tid = other->tid;

		gn_sampler_end_waits(s, tid, time_ns);
		gn_processes_exit(&s->processes, thread->pid, tid);
		if (s->is_machine)
			s->exited[s->n_exited++ % EXITED] = tid;
	}
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
	if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
		on_exec(s, thread, before_end(header, GN_TIME_BEFORE_END));
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

void gn_sampler_begin_waits(struct gn_sampler *s, int32_t tid)
{
	const int32_t pid = s->waits.since_ns && tid > 0 ? gn_task_status(tid, "Tgid:") : 0;
	struct gn_thread *thread = pid > 0 ? gn_processes_thread(&s->processes, pid, tid) : NULL;

	if (thread)
		gn_waits_suppose(&s->waits, thread);
}

void gn_sampler_end_waits(struct gn_sampler *s, int32_t tid, uint64_t time_ns)
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
	int32_t *before;
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
		gn_sampler_end_waits(s, (int32_t)thread[0], before_end(header, GN_TIME_BEFORE_END));
		gn_processes_exit(&s->processes, (int32_t)task[0], (int32_t)thread[0]);
		if (s->is_machine)
			s->exited[s->n_exited++ % EXITED] = (int32_t)thread[0];
		return 0;
	}
	/* Its number comes again. */
	before = exited(s, (int32_t)thread[0]);
	if (before)
		*before = 0;
	failed = gn_processes_fork(&s->processes, (int32_t)task[0], (int32_t)thread[0],
				   (int32_t)parent[0], (int32_t)parent[1]);
	if (!failed && s->tells_switches)
		gn_waits_create(&s->waits,
				gn_processes_find_thread(&s->processes, (int32_t)thread[0]),
				before_end(header, GN_TIME_BEFORE_END), 1);
	return failed;
}

void gn_sampler_take(struct gn_sampler *s, const struct perf_event_header *header)
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
		s->is_crowded = 1;
		gn_words_take_one(&words);
		gn_sampler_count_loss(s, header, GN_LOSS_SAMPLES, gn_words_take_one(&words));
		break;
	case PERF_RECORD_THROTTLE:
		gn_sampler_count_loss(s, header, GN_LOSS_THROTTLED, 1);
		break;
	default:
		break;
	}
	if (failed)
		gn_sampler_count_loss(s, header, GN_LOSS_MEMORY, 1);
}
