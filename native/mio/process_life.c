#include "process_life.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

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
		file->is_held_for_fork = gn_mio_file_lock_for_fork(file);
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

struct showing {
	int all;
	pid_t parent; /* of this process, whose files they are; 0: they are its own */
};

/* In a child of vfork(2) a number may be another file's, if the parent opened this one since. */
static bool is_parents(pid_t parent, int fd)
{
	const int before = errno;
	const long differs = syscall(SYS_kcmp, (long)parent, syscall(SYS_getpid), KCMP_FILE,
				     (unsigned long)fd, (unsigned long)fd);
	const bool is_known = differs >= 0 || errno == EBADF;

	errno = before;
	return is_known ? !differs : true;
}

static void show_file(struct gn_mio_file *file, void *context)
{
	const struct showing *showing = context;
	const int fd = gn_mio_stack_descriptor(file->stack);
	const int flags = gn_mio_system_control(fd, F_GETFD, NULL);

	if (showing->parent && !is_parents(showing->parent, fd))
		return;
	/* A duplicate may have another flag. */
	if (!showing->all && file->n_descriptors == 1 && flags >= 0 && flags & FD_CLOEXEC)
		gn_mio_stack_flush(file->stack);
	else
		gn_mio_file_hand_over(file);
}

void gn_mio_files_show(int all, pid_t parent)
{
	struct showing showing = {all, parent};

	gn_mio_files_for_each(show_file, &showing);
}

void gn_mio_process_end(void)
{
	gn_mio_files_end();
	gn_mio_events_close_all();
}
