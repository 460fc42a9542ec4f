#include "io_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "event_file.h"
#include "kernel_counts.h"
#include "launcher_rank.h"
#include "lifecycle.h"
#include "own_calls.h"
#include "tick_rate.h"

/* How a thread waits for another one that opens the file. */
#define NAP_NS 50000

__thread struct gn_io_thread *gn_io_here;
struct gn_io_process *gn_io_process;
int gn_io_uses_counter;

/* Until there is a page that forks clear. */
static struct gn_io_process no_process;
__thread int gn_io_is_own, gn_io_is_at_work;
static struct gn_totals_plan plan = {.capability = "io"};
static pid_t opener;
static int has_opened; /* in this process or one that it was forked from */

void gn_io_work_begin(struct gn_io_work *work)
{
	gn_signal_shield_begin(&work->shield);
	gn_io_is_own++;
	gn_io_is_at_work++;
	/* Its calls then ask gn_io_thread_begin(). */
	work->thread = gn_io_here;
	if (work->thread)
		work->thread->is_busy++;
}

void gn_io_work_end(struct gn_io_work *work)
{
	if (work->thread)
		work->thread->is_busy--;
	gn_io_is_at_work--;
	gn_io_is_own--;
	gn_signal_shield_end(&work->shield);
}

/* --- the process ------------------------------------------------------------------------------ */

/* What a thread had in the parent is in another file. */
static void give_back(void *thread)
{
	struct gn_io_work work;

	if (gn_io_here != thread)
		return;
	gn_io_work_begin(&work);
	gn_io_here = NULL;
	/* Another thread may have it at once: it is not to be touched any more. */
	work.thread = NULL;
	gn_site_thread_give_back(&((struct gn_io_thread *)thread)->calls);
	gn_io_work_end(&work);
}

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct gn_io_process),
	.at_thread_end = give_back,
};

/* Before the constructors of a program there is but one thread. */
static void begin_process(void)
{
	plan.names = gn_io_call_names;
	plan.n_routines = gn_io_n_calls;
	gn_io_process = gn_lifecycle_begin(&life);
	if (!gn_io_process) {
		no_process.state = GN_IO_OFF;
		gn_io_process = &no_process;
	}
}

static void open_file(struct gn_io_process *process)
{
	const int is_forked = has_opened;

	if (is_forked) {
		gn_io_events_forget();
		gn_call_sites_forget();
		gn_io_files_forget();
	}
	gn_io_descriptors_forget();
	if (gn_totals_open(&plan)) {
		atomic_store(&process->state, GN_IO_OFF);
		return;
	}
	gn_totals_header()->rank = gn_launcher_rank();
	opener = (pid_t)syscall(SYS_getpid);
	has_opened = 1;
	gn_io_uses_counter = gn_tick_rate_begin();
	gn_io_events_open();
	gn_python_caller_begin();
	gn_io_count_begin(is_forked);
	atomic_store(&process->state, GN_IO_OPEN);
}

static void open_once(struct gn_io_process *process)
{
	int state = GN_IO_NEW;

	if (atomic_compare_exchange_strong(&process->state, &state, GN_IO_OPENING))
		open_file(process);
	while (atomic_load(&process->state) == GN_IO_OPENING)
		gn_pause(NAP_NS);
}

/* Also of a program that calls nothing there is a file, by which it is known to be measured. */
static __attribute__((constructor)) void open_at_begin(void)
{
	gn_io_thread_begin();
}

/* After the program's own handlers and destructors; a child of vfork(2) may come here, too. */
__attribute__((destructor)) void gn_io_process_end(void)
{
	struct gn_io_work work;

	if (!gn_io_process || gn_io_process->state != GN_IO_OPEN ||
	    opener != (pid_t)syscall(SYS_getpid))
		return;
	gn_io_work_begin(&work);
	gn_io_count_end();
	atomic_store(&gn_io_process->state, GN_IO_OFF);
	gn_io_events_close();
	gn_totals_close();
	gn_io_work_end(&work);
}

/* --- threads ---------------------------------------------------------------------------------- */

static struct gn_io_thread *take_thread(void)
{
	struct gn_io_thread *thread =
		(struct gn_io_thread *)gn_site_thread_take(sizeof(struct gn_io_thread));

	if (thread)
		thread->is_busy = 0;
	return thread;
}

/* `own`: a thread that is busy with this alone. */
static struct gn_io_thread *make_thread(const struct gn_io_thread *own)
{
	struct gn_io_thread *thread;

	/* Of this process's parent. */
	if (gn_io_here && atomic_load(&gn_io_process->state) == GN_IO_NEW)
		gn_io_here = NULL;
	open_once(gn_io_process);
	if (gn_io_process->state != GN_IO_OPEN)
		return NULL;
	if (!gn_io_here) {
		thread = take_thread();
		if (!thread)
			return NULL;
		gn_lifecycle_watch_thread(&life, thread);
		gn_io_here = thread;
	}
	for (thread = gn_io_here; thread && thread->is_busy > (thread == own);
	     thread = thread->nested)
		if (!thread->nested)
			thread->nested = take_thread();
	return thread;
}

struct gn_io_thread *gn_io_thread_begin(void)
{
	struct gn_io_thread *thread;
	struct gn_io_work work;

	if (gn_io_is_own || (gn_io_process && gn_io_process->state == GN_IO_OFF))
		return NULL;
	gn_io_work_begin(&work);
	if (!gn_io_process)
		begin_process();
	thread = make_thread(work.thread);
	gn_io_work_end(&work);
	return thread;
}
