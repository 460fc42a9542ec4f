#include "python_sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "lifecycle.h"
#include "program_calls.h"
#include "python_layout.h"
#include "python_records.h"
#include "python_stack.h"
#include "python_threads.h"
#include "recorder_link.h"

/* So soon after the last sample a thread that has not moved has the same functions. */
#define SAME_NS 1000000u
#define UNMOVED_MAX 1000u
/* To read a stack takes some 10 us, unless the thread has to wait for a CPU now and then. */
#define LONG_NS 2000000u
#define LONG_LEAST 4u
#define LONG_FACTOR 10u

/* siginfo_t of a perf event's signal, which the C library's headers may not have yet. */
#define CODE_PERF 6 /* TRAP_PERF */
#define IS_LATE 1u  /* TRAP_PERF_FLAG_ASYNC: the thread had blocked it */
struct perf_signal {
	int number, error, code, pad;
	void *address;
	unsigned long data;
	uint32_t type, flags;
};

static const struct gn_record_field process_fields[] = {
	GN_RECORD_FIELD(struct gn_python_process, version, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_process, state, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_process, parent, GN_RECORD_I32),
};
static const struct gn_record_field code_fields[] = {
	GN_RECORD_FIELD(struct gn_python_code, code, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_code, first_line, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_python_code, line_table_bytes, GN_RECORD_U32),
};
static const struct gn_record_field lines_fields[] = {
	GN_RECORD_FIELD(struct gn_python_lines, code, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_lines, offset, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_lines, bytes, GN_RECORD_U8),
};
static const struct gn_record_field node_fields[] = {
	GN_RECORD_FIELD(struct gn_python_node, node, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_node, parent, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_node, code, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_node, instruction, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_python_node, is_entry, GN_RECORD_U32),
};
static const struct gn_record_field sample_fields[] = {
	GN_RECORD_FIELD(struct gn_python_sample, time_ns, GN_RECORD_U64),
	GN_RECORD_FIELD(struct gn_python_sample, tid, GN_RECORD_I32),
	GN_RECORD_FIELD(struct gn_python_sample, node, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_sample, status, GN_RECORD_U32),
	GN_RECORD_FIELD(struct gn_python_sample, depth, GN_RECORD_U32),
};
static const struct gn_record_kind kinds[] = {
	GN_RECORD_KIND("process", struct gn_python_process, process_fields),
	GN_RECORD_KIND("code", struct gn_python_code, code_fields),
	GN_RECORD_TEXTS("text"),
	GN_RECORD_KIND("lines", struct gn_python_lines, lines_fields),
	GN_RECORD_KIND("node", struct gn_python_node, node_fields),
	GN_RECORD_KIND("sample", struct gn_python_sample, sample_fields),
};

/* Whether functions are to be told by the interpreter's trampolines, which it has since 3.12. */
#define TRAMPOLINES "GNOMON_PYTHON_TRAMPOLINES"
#define FIRST_WITH_TRAMPOLINES 0x030c0000u

static struct gn_python python;
static struct gn_code_table *codes;
static struct gn_python_threads *threads;
static _Atomic enum gn_python_state state;
static _Atomic pid_t sampled; /* the process whose events are open; 0: none */

static int trampolines_are_wanted(void)
{
	return secure_getenv(TRAMPOLINES) != NULL;
}

static void record_process(void)
{
	static struct gn_record_stream stream;
	static pid_t recorded;
	const pid_t self = getpid();
	const struct gn_python_process process = {
		.version = python.version,
		.state = state == GN_PYTHON_IS_READ && trampolines_are_wanted()
				 ? GN_PYTHON_IS_READ_INSTEAD
				 : state,
		.parent = recorded == self ? 0 : recorded,
	};

	gn_recorder_append(&stream, GN_PYTHON_PROCESS, &process);
	recorded = self;
}

static const struct gn_recorder_plan plan = {GN_PYTHON_WRITER, kinds, GN_PYTHON_KINDS, 0, NULL};

#if defined(__x86_64__)
static uintptr_t program_counter(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
#elif defined(__aarch64__)
static uintptr_t program_counter(const ucontext_t *context)
{
	return context->uc_mcontext.pc;
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
	return context->uc_mcontext.sp;
}
#else
/* Nothing unwinds stacks on other machines: there are no samples either. */
static uintptr_t program_counter(const ucontext_t *context)
{
	return (uintptr_t)context;
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
	return (uintptr_t)context;
}
#endif

/* --- a sample --------------------------------------------------------------------------------- */

/* Whether a PyThreadState is the calling thread's: 0 or 1, -1: it cannot be read. */
static int is_own(struct gn_python_thread *thread, uintptr_t address)
{
	const uintptr_t id = address + python.layout.thread_id;

	if (address & 7 || !gn_probe(&thread->probe, id, sizeof(id)))
		return -1;
	return gn_word_at(id) == (uintptr_t)pthread_self();
}

/* The calling thread's PyThreadState of the interpreter that it runs; 0: it has none. */
static uintptr_t own_state(struct gn_python_thread *thread)
{
	/* Of whoever has the lock of all interpreters. */
	const uintptr_t running = python.running ? (uintptr_t)python.running() : 0;

	if (running && is_own(thread, running) == 1)
		return running;
	return (uintptr_t)python.this_thread();
}

static int read_stack(struct gn_python_thread *thread)
{
	const struct gn_python_reader reader = {&python, codes, &thread->code_streams,
						&thread->probe};
	const uintptr_t own = own_state(thread);

	thread->stack.n = 0;
	if (!own)
		return GN_PYTHON_OUTSIDE;
	if (is_own(thread, own) != 1)
		return GN_PYTHON_UNREADABLE;
	return gn_python_stack_read(&reader, own, &thread->stack);
}

/*
 * A sample that falls into the handler of the one before finds the signal blocked, by us: it comes
 * as soon as that handler returns, and the thread has not moved.
 */
static int has_moved(struct gn_python_thread *thread, const ucontext_t *context)
{
	const uintptr_t pc = program_counter(context), sp = stack_pointer(context);
	const int is_elsewhere = pc != thread->last_pc || sp != thread->last_sp;

	thread->last_pc = pc;
	thread->last_sp = sp;
	return is_elsewhere;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * Where samples come faster than they are taken the program would never go on, as under a tracer
 * that stops it at each signal and at each system call of ours: they are stopped.
 */
static void stop_samples(void)
{
	sampled = 0;
	state = GN_PYTHON_IS_REFUSED;
	gn_recorder_ask(GN_PYTHON_END);
	record_process();
}

/* What takes long, as each system call does under a tracer, is not done at each sample. */
static void read_sample(struct gn_python_thread *thread, struct gn_python_sample *sample)
{
	uint64_t taken_ns;

	if (sample->time_ns < thread->read_again_ns) {
		sample->status = GN_PYTHON_UNREADABLE;
		return;
	}
	sample->status = (uint32_t)read_stack(thread);
	if (sample->status == GN_PYTHON_READ || sample->status == GN_PYTHON_CUT) {
		sample->depth = thread->stack.n;
		sample->node = gn_python_path(threads, thread);
	}
	taken_ns = now_ns() - sample->time_ns;
	thread->n_long = taken_ns > LONG_NS ? thread->n_long + 1 : 0;
	if (thread->n_long >= LONG_LEAST)
		thread->read_again_ns = sample->time_ns + LONG_FACTOR * taken_ns;
}

static void take_sample(uint32_t flags, const ucontext_t *context)
{
	struct gn_python_sample sample = {.tid = gettid(), .time_ns = now_ns()};
	struct gn_python_thread *thread;
	int is_elsewhere, is_same;

	/* At the process's end the file is closed before the last function has returned. */
	if (gn_record_file_status(gn_recorder_file()))
		return;

	thread = gn_python_thread(threads, sample.tid);
	if (!thread)
		return;
	is_elsewhere = has_moved(thread, context);
	is_same =
		flags & IS_LATE && !is_elsewhere && sample.time_ns - thread->last_end_ns < SAME_NS;
	thread->n_unmoved = is_same ? thread->n_unmoved + 1 : 0;
	if (thread->n_unmoved == UNMOVED_MAX)
		stop_samples();
	if (is_same) {
		sample.status = thread->last.status;
		sample.depth = thread->last.depth;
		sample.node = thread->last.node;
	} else if (flags & IS_LATE && is_elsewhere) {
		sample.status = GN_PYTHON_LATE;
	} else {
		read_sample(thread, &sample);
	}
	gn_recorder_append(&thread->samples, GN_PYTHON_SAMPLE, &sample);
	thread->last = sample;
	thread->last_end_ns = now_ns();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct perf_signal signal;
	const int before = errno;

	memcpy(&signal, info, sizeof(signal));
	if (signal.code == CODE_PERF && (uint32_t)signal.data == (uint32_t)GN_PYTHON_SIGNAL_DATA)
		take_sample(signal.flags, context);
	else
		gn_pass_signal(number, info, context);
	errno = before;
}

/* --- the process ------------------------------------------------------------------------------ */

static void ask_for_samples(void)
{
	if (state == GN_PYTHON_IS_READ && gn_recorder_ask(GN_PYTHON_BEGIN))
		state = GN_PYTHON_IS_REFUSED;
	else
		sampled = getpid();
	record_process();
}

/* The events are of one process; a child asks for its own. */
static void begin_in_child(void)
{
	if (sampled)
		ask_for_samples();
	else if (state == GN_PYTHON_IS_NAMED)
		record_process();
}

static void begin(int is_usable)
{
	state = is_usable ? GN_PYTHON_IS_READ : GN_PYTHON_IS_UNKNOWN;
	if (!gn_recorder_is_there() || gn_recorder_start(&plan))
		return;
	if (trampolines_are_wanted() && python.version >= FIRST_WITH_TRAMPOLINES) {
		state = GN_PYTHON_IS_NAMED;
		gn_lifecycle_at_fork(begin_in_child);
		record_process();
		return;
	}
	if (is_usable) {
		codes = gn_code_table_new();
		threads = gn_python_threads_new();
		/* What it calls first is looked for now, not in a handler. */
		python.this_thread();
		if (python.running)
			python.running();
		if (!codes || !threads || gn_take_signal(on_signal))
			state = GN_PYTHON_IS_REFUSED;
		else
			gn_lifecycle_at_fork(begin_in_child);
	}
	ask_for_samples();
}

int gn_python_pause(void)
{
	if (!sampled || sampled != getpid())
		return 0;
	/* Without rights, descriptors or its root of before it may not reach the recorder. */
	if (gn_recorder_ask(GN_PYTHON_END))
		gn_ignore_signal();
	return 1;
}

void gn_python_resume(void)
{
	gn_heed_signal();
	ask_for_samples();
}

/* --- finding the interpreter ------------------------------------------------------------------ */

static int count_loaded(struct dl_phdr_info *info, size_t bytes, void *to)
{
	(void)bytes;
	*(unsigned long long *)to = info->dlpi_adds;
	return 1;
}

/* The name of one that was loaded for nobody else to see (RTLD_LOCAL). */
static int copy_name(struct dl_phdr_info *info, size_t bytes, void *to)
{
	(void)bytes;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "libpython") ||
	    strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(to, info->dlpi_name);
	return 1;
}

static int find_in_library(void)
{
	char name[PATH_MAX];
	void *library;
	int found;

	if (!dl_iterate_phdr(copy_name, name))
		return GN_PYTHON_NONE;
	library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	found = library ? gn_python_find(&python, library) : GN_PYTHON_NONE;
	/* It stays loaded while its functions are called. */
	if (library && found == GN_PYTHON_NONE)
		dlclose(library);
	return found;
}

void gn_python_look(void)
{
	static _Atomic unsigned long long n_before;
	static atomic_int is_found;
	unsigned long long n_loaded = 0;
	int found, nobody = 0;

	if (is_found)
		return;
	dl_iterate_phdr(count_loaded, &n_loaded);
	if (atomic_exchange(&n_before, n_loaded) == n_loaded)
		return;
	found = gn_python_find(&python, RTLD_DEFAULT);
	if (found == GN_PYTHON_NONE)
		found = find_in_library();
	if (found != GN_PYTHON_NONE && atomic_compare_exchange_strong(&is_found, &nobody, 1))
		begin(found == GN_PYTHON_USABLE);
}

__attribute__((constructor)) static void look_at_start(void)
{
	gn_python_look();
}
