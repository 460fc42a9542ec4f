/*
 * Forks and the end of a process. A file that a process had open when it forked is shared with the
 * child: from then on the kernel alone keeps its position, as it does without MIO, and layers get
 * requests without offsets.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "aio_requests.h"
#include "files_state.h"
#include "mio_intermediate.h"
#include "mio_output.h"
#include "system_calls.h"
#include "trace_events.h"

#define EXIT_WAIT_SECONDS 1

/* With the file's lock held: what the program did is what the system knows. */
static void hand_over(struct gn_mio_file *file)
{
	gn_mio_stack_flush(file->stack);
	gn_mio_stack_drop(file->stack);
	if (file->has_position && !file->is_at_end)
		gn_mio_system_seek(gn_mio_stack_descriptor(file->stack), file->position, SEEK_SET);
	file->has_position = file->is_at_end = false;
}

/* A file that another thread is at stays as it is here, and is unknown to MIO in the child. */
static void before_fork(void)
{
	gn_mio_output_create(NULL);
	pthread_mutex_lock(&gn_mio_state.lock);
	for (struct gn_mio_file *file = gn_mio_state.first; file; file = file->next) {
		file->is_held_for_fork = !pthread_mutex_trylock(&file->lock);
		if (!file->is_held_for_fork || !file->stack)
			continue;
		hand_over(file);
		gn_mio_stack_prepare_fork(file->stack);
	}
}

static void after_fork(void)
{
	for (struct gn_mio_file *file = gn_mio_state.first; file; file = file->next)
		if (file->is_held_for_fork)
			pthread_mutex_unlock(&file->lock);
	pthread_mutex_unlock(&gn_mio_state.lock);
}

static void in_child(void)
{
	gn_mio_output_forked();
	gn_mio_events_forked();
	gn_mio_intermediate_forked();
	gn_mio_aio_forked();
	for (unsigned int i = 0; i < gn_mio_state.n_descriptors; i++) {
		const struct gn_mio_file *file = gn_mio_state.descriptor[i];

		if (file && !file->is_held_for_fork)
			gn_mio_state.descriptor[i] = NULL;
	}
	/* Its only thread has another number than the one that has the locks. */
	for (struct gn_mio_file *file = gn_mio_state.first; file; file = file->next) {
		gn_mio_file_init_lock(&file->lock);
		if (file->is_held_for_fork && file->stack)
			gn_mio_stack_forked(file->stack);
	}
	pthread_mutex_init(&gn_mio_state.lock, NULL);
}

void gn_mio_files_begin(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

/*
 * Descriptors stay open: what else runs at the end of the process may write to them, by the
 * system's calls. Files that a thread is at still have no report.
 */
static __attribute__((destructor)) void end_process(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_WAIT_SECONDS;
	pthread_mutex_lock(&gn_mio_state.lock);
	for (unsigned int i = 0; i < gn_mio_state.n_descriptors; i++)
		gn_mio_state.descriptor[i] = NULL;
	for (struct gn_mio_file *file = gn_mio_state.first; file; file = file->next) {
		if (pthread_mutex_timedlock(&file->lock, &until))
			continue;
		if (file->stack) {
			hand_over(file);
			gn_mio_stack_set_descriptor(file->stack, -1);
			gn_mio_stack_close(file->stack);
			file->stack = NULL;
		}
		pthread_mutex_unlock(&file->lock);
	}
	pthread_mutex_unlock(&gn_mio_state.lock);
	gn_mio_events_close_all();
}
