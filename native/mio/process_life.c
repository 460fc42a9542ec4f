#include "process_life.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "mio_intermediate.h"
#include "mio_output.h"
#include "open_files.h"
#include "system_calls.h"
#include "trace_events.h"

/* Of the thread that forks. */
static __thread sigset_t mask __attribute__((tls_model("initial-exec")));

/* A file that another thread is at stays as it is here, and is unknown to layers in the child. */
static void before_fork(void)
{
	sigset_t all;

	/* A handler over the fork may call something of a file that is locked for it. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	gn_mio_output_create(NULL);
	gn_mio_files_lock_table();
	for (struct gn_mio_file *file = gn_mio_files_first(); file; file = file->next) {
		file->is_held_for_fork = gn_mio_file_try_lock(file);
		if (!file->is_held_for_fork || !file->stack)
			continue;
		gn_mio_file_hand_over(file);
		gn_mio_stack_prepare_fork(file->stack);
	}
}

static void after_fork(void)
{
	for (struct gn_mio_file *file = gn_mio_files_first(); file; file = file->next)
		if (file->is_held_for_fork)
			pthread_mutex_unlock(&file->lock);
	gn_mio_files_unlock_table();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void in_child(void)
{
	gn_mio_output_forked();
	gn_mio_events_forked();
	gn_mio_intermediate_forked();
	gn_mio_files_forked();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void gn_mio_files_begin(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

static void show_file(struct gn_mio_file *file, void *context)
{
	const int flags =
		gn_mio_system_control(gn_mio_stack_descriptor(file->stack), F_GETFD, NULL);

	/* A duplicate may have another flag. */
	if (!*(int *)context && file->n_descriptors == 1 && flags >= 0 && flags & FD_CLOEXEC)
		gn_mio_stack_flush(file->stack);
	else
		gn_mio_file_hand_over(file);
}

void gn_mio_files_show(int all)
{
	gn_mio_files_for_each(show_file, &all);
}

void gn_mio_process_end(void)
{
	gn_mio_files_end();
	gn_mio_events_close_all();
}
