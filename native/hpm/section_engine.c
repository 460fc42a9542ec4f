/* The engine of this process, of those that it forks, and of their threads. */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "aggregate.h"
#include "bare_ticks.h"
#include "fast_path.h"
#include "lifecycle.h"
#include "output_names.h"
#include "section_engine.h"

#define SECTIONS_DEFAULT 1000
#define OWN_SECTIONS 4096 /* of hpmNewID, at least; as many as programs can choose, if more */

int hpm_uses_counter;

struct hpm_process *_Atomic hpm_process_page;
static struct hpm_engine *last_engine; /* of this process or, in a child, of its parent */
static char program_name[1024];
static char program_folder[PATH_MAX]; /* with a slash behind it, or "" if it has none */

__thread struct hpm_thread *hpm_self __attribute__((tls_model("initial-exec")));
__thread const char *hpm_told __attribute__((tls_model("initial-exec")));

/* This thread takes locks to begin: a signal handler must not wait for them. */
static __thread volatile int is_entering __attribute__((tls_model("initial-exec")));

/* --- the process ------------------------------------------------------------------------------ */

static void end_thread(void *argument);

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct hpm_process),
	.at_thread_end = end_thread,
};

static void make_page(void)
{
	hpm_process_page = gn_lifecycle_begin(&life);
}

struct hpm_process *hpm_process_begin(void (*at_exit)(void))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	/* Threads may all come first: each brings the same. */
	__atomic_store_n(&life.at_exit, at_exit, __ATOMIC_RELAXED);
	pthread_once(&once, make_page);
	return hpm_process_page;
}

const struct hpm_engine *hpm_engine_last(void)
{
	return last_engine;
}

/* --- making an engine ------------------------------------------------------------------------- */

uint64_t hpm_epoch_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What a child got of its parent's descriptors; the parent keeps its own. */
static void forget_parent(struct hpm_engine *parent)
{
	hpm_context_forget(parent, &parent->process);
	for (struct hpm_thread *thread = parent->threads; thread; thread = thread->next)
		hpm_context_forget(parent, &thread->context);
	if (parent->file.fd >= 0)
		close(parent->file.fd);
	parent->file.fd = -1;
}

/* The output, a child's too, goes where hpmInit found the program, which may change its folder. */
static void find_folder(void)
{
	if (!getcwd(program_folder, sizeof(program_folder) - 1))
		program_folder[0] = '\0';
	else if (strcmp(program_folder, "/") != 0)
		strcat(program_folder, "/");
}

static void make_absolute(char *name, size_t size)
{
	const size_t length = strlen(program_folder), given = strlen(name);

	if (name[0] == '/' || length + given >= size)
		return;
	memmove(name + length, name, given + 1);
	memcpy(name, program_folder, length);
}

/* A child's files are its own: its number goes into their name. */
static void set_names(struct hpm_engine *engine, struct hpm_raw_header *header, char *path,
		      char *other, size_t size)
{
	struct hpm_settings *settings = &engine->settings;
	size_t length;

	make_absolute(settings->name, sizeof(settings->name));
	length = strlen(settings->name);
	if (engine->is_child && !(settings->unique && header->task < 0))
		snprintf(settings->name + length, sizeof(settings->name) - length, "_%d",
			 (int)getpid());
	snprintf(path, size, "%s.hpmraw", settings->name);
	snprintf(other, size, "%s_%s_%d.hpmraw", settings->name, header->host, (int)getpid());
}

static void describe_run(struct hpm_engine *engine, struct hpm_raw_header *header)
{
	struct hpm_instance instance;
	ssize_t length;

	header->byte_order = HPM_RAW_BYTE_ORDER;
	header->version = HPM_RAW_VERSION;
	header->pid = (uint32_t)getpid();
	header->task = (int32_t)hpm_mpi_task();
	header->is_child = (uint32_t)engine->is_child;
	header->flags |= engine->is_exclusive ? HPM_RAW_EXCLUSIVE : 0;
	header->flags |= engine->keeps_exclusive ? HPM_RAW_KEPT : 0;
	engine->ticks_per_ms = hpm_uses_counter ? (uint64_t)(gn_clock_hz() / 1e3) : 1000000u;
	engine->init_ns = gn_clock_ns();
	engine->init_ticks = gn_bare_ticks(hpm_uses_counter);
	header->ticks = engine->init_ticks;
	header->ticks_hz = hpm_uses_counter ? gn_clock_hz() : 1e9;
	header->realtime_ns = hpm_epoch_ns();
	hpm_rusage(header->rusage);
	hpm_instance_now(&instance, header->host);
	snprintf(header->program, sizeof(header->program), "%s", program_name);
	length = readlink("/proc/self/exe", header->command, sizeof(header->command) - 1);
	header->command[length > 0 ? length : 0] = '\0';
}

static int make_tables(struct hpm_engine *engine, struct hpm_raw_plan *plan)
{
	char path[PATH_MAX + 600], other[PATH_MAX + 600];
	int error = hpm_event_setup(engine, plan);

	if (error)
		return error;
	/* The thread that changes turns is made before any counter is opened, which it would
	 * inherit. */
	if (engine->layout.rotates)
		error = gn_rotation_prepare(&engine->rotation);
	if (error) {
		hpm_error(NULL, HPM_NO_COUNTERS,
			  "no thread can be made that lets groups take turns (%s); end threads, or "
			  "ask for one group",
			  strerror(-error));
		engine->rotation = NULL;
	}
	describe_run(engine, &plan->header);
	set_names(engine, &plan->header, path, other, sizeof(path));
	error = hpm_raw_create(&engine->file, plan,
			       (uint32_t)engine->id_end - 1 +
				       (engine->keeps_places ? HPM_PLACES_MAX : 0),
			       path, other);
	if (error == -ENOMEM)
		return error;
	if (error)
		hpm_warn("%s cannot be created (%s), so nothing can be recovered after a kill; set "
			 "HPM_OUTPUT_NAME to a writable directory with free space",
			 path, strerror(-error));
	else
		hpm_staging_link(&engine->file);
	return hpm_context_make(engine, &engine->process, HPM_PROCESS, NULL);
}

/* A child has its parent's numbers. */
static int set_numbers(struct hpm_engine *engine)
{
	int n_own;

	engine->id_limit =
		last_engine ? last_engine->id_limit
			    : (int)hpm_env_number("HPM_NUM_INST_PTS", 2, HPM_RAW_SECTIONS_MAX,
						  SECTIONS_DEFAULT + 1);
	n_own = engine->id_limit > OWN_SECTIONS ? engine->id_limit : OWN_SECTIONS;
	if (n_own > HPM_RAW_SECTIONS_MAX - engine->id_limit)
		n_own = HPM_RAW_SECTIONS_MAX - engine->id_limit;
	engine->id_end = engine->id_limit + n_own;
	if (hpm_ids_prepare(engine->id_end))
		return -ENOMEM;
	engine->section = mmap(NULL, (size_t)engine->id_end * sizeof(*engine->section),
			       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return engine->section != MAP_FAILED ? 0 : -ENOMEM;
}

/* NULL: there is no memory. */
static struct hpm_engine *make_engine(int is_child)
{
	struct hpm_engine *engine = mmap(NULL, sizeof(*engine), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hpm_raw_plan *plan = calloc(1, sizeof(*plan));
	int error = -ENOMEM;

	if (engine == MAP_FAILED || !plan)
		goto out;
	pthread_mutex_init(&engine->mutex, NULL);
	engine->file.fd = -1;
	engine->is_child = is_child;
	hpm_settings_read(&engine->settings, program_name);
	engine->is_exclusive = hpm_env_is_yes("HPM_EXCLUSIVE_VALUES");
	engine->is_run = hpm_is_run();
	/* A user who says no spares their program what it costs. */
	engine->keeps_exclusive =
		engine->is_exclusive || (engine->is_run && !hpm_env_is_set("HPM_EXCLUSIVE_VALUES"));
	engine->keeps_places = engine->is_run && hpm_env_is_yes("HPM_CALL_PATHS");
	engine->uses_locks = hpm_env_flag("HPM_USE_PTHREAD_MUTEX", 1);
	engine->has_barrier =
		!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	error = set_numbers(engine);
	if (!error)
		error = make_tables(engine, plan);
	engine->state = HPM_RUNNING;
out:
	if (plan) {
		free(plan->event);
		free(plan->environment);
		free(plan);
	}
	if (!error)
		return engine;
	if (engine != MAP_FAILED)
		munmap(engine, sizeof(*engine));
	return NULL;
}

/* The engine of this process, made if there is none. */
static struct hpm_engine *begin(struct hpm_process *here)
{
	struct hpm_engine *engine;
	int held;

	held = hpm_mutex_hold(&here->mutex);
	engine = here->engine;
	if (!engine) {
		if (last_engine)
			forget_parent(last_engine);
		if (!gn_clock_init()) {
			hpm_uses_counter = gn_clock_source() != GN_CLOCK_VDSO;
			engine = make_engine(last_engine != NULL);
		}
		if (engine)
			last_engine = engine;
		here->engine = engine;
	}
	hpm_mutex_release(&here->mutex, held);
	if (!engine)
		hpm_error(NULL, HPM_NO_MEMORY, "hpmInit: nothing is measured; free some memory");
	return engine;
}

void hpm_engine_begin(struct hpm_process *here, const char *program)
{
	snprintf(program_name, sizeof(program_name), "%s",
		 program && *program ? program : program_invocation_short_name);
	find_folder();
	hpm_distribute();
	is_entering = 1;
	begin(here);
	is_entering = 0;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* What a thread's last section needs of its counters is read when that is stopped. */
static void end_thread(void *argument)
{
	struct hpm_thread *thread = argument;
	struct hpm_engine *engine = hpm_process_page->engine;
	int held;

	if (!engine || thread->engine != engine)
		return;
	held = hpm_mutex_hold(&engine->mutex);
	hpm_lock_own(&thread->context);
	if (!thread->active)
		hpm_context_close(engine, &thread->context);
	hpm_unlock_own(&thread->context);
	/* Nothing refers to a thread that had only sections of all threads, and stopped them. */
	if (!thread->context.group && !thread->frames[HPM_PROCESS].n) {
		thread->next_spare = engine->spare;
		engine->spare = thread;
	}
	hpm_mutex_release(&engine->mutex, held);
}

static struct hpm_thread *new_thread(struct hpm_engine *engine)
{
	struct hpm_thread *thread = engine->spare;

	if (thread) {
		engine->spare = thread->next_spare;
		hpm_places_forget(thread);
		return thread;
	}
	thread = hpm_arena_alloc(engine, sizeof(*thread));
	if (!thread || hpm_context_make(engine, &thread->context, HPM_THREAD, thread))
		return NULL;
	thread->engine = engine;
	thread->next = engine->threads;
	__atomic_store_n(&engine->threads, thread, __ATOMIC_RELEASE);
	return thread;
}

static struct hpm_thread *enter_first(struct hpm_engine *engine)
{
	struct hpm_thread *thread;
	int held;

	held = hpm_mutex_hold(&engine->mutex);
	thread = new_thread(engine);
	if (thread)
		thread->tid = (int)gettid();
	hpm_mutex_release(&engine->mutex, held);
	if (!thread) {
		hpm_error(NULL, HPM_NO_MEMORY,
			  "no memory for a thread's counters; free some memory");
		return NULL;
	}
	gn_lifecycle_watch_thread(&life, thread);
	hpm_self = thread;
	return thread;
}

void hpm_no_engine(const char *caller, int id)
{
	hpm_error(NULL, last_engine ? HPM_TERMINATED : HPM_NOT_INITIALISED,
		  last_engine ? "%s(%d): it comes after hpmTerminate; call that last"
			      : "%s(%d): it comes before hpmInit; call that first",
		  caller, id);
}

static void in_a_handler(const char *caller, int id)
{
	hpm_error(NULL, HPM_IN_SIGNAL,
		  "%s(%d): its signal came in the middle of another call of libhpm; block the "
		  "signal around those calls",
		  caller, id);
}

static struct hpm_thread *enter_slowly(const char *caller, int id)
{
	struct hpm_process *here = hpm_process_page;
	struct hpm_engine *engine = here ? here->engine : NULL;
	struct hpm_thread *thread = hpm_self;

	if (!engine && here && last_engine && last_engine->state == HPM_RUNNING)
		engine = begin(here);
	else if (!engine)
		hpm_no_engine(caller, id);
	if (!engine)
		return NULL;
	if (engine->state != HPM_RUNNING) {
		hpm_error(NULL, HPM_TERMINATED,
			  "%s(%d): it comes after hpmTerminate; call that last", caller, id);
		return NULL;
	}
	if (!thread || thread->engine != engine)
		thread = enter_first(engine);
	if (!thread)
		return NULL;
	if (thread->is_busy) {
		in_a_handler(caller, id);
		return NULL;
	}
	thread->is_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

struct hpm_thread *hpm_enter_slowly(const char *caller, int id)
{
	const int before = errno;
	struct hpm_thread *thread = NULL;

	if (is_entering) {
		in_a_handler(caller, id);
	} else {
		is_entering = 1;
		atomic_signal_fence(memory_order_seq_cst);
		thread = enter_slowly(caller, id);
		atomic_signal_fence(memory_order_seq_cst);
		is_entering = 0;
	}
	errno = before;
	return thread;
}
