#include "prefetch_pool.h"

#include "system_calls.h"

#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#define IDLE_NS 200000000
#define STACK_BYTES (256 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct gn_prefetch_job *first, **last = &first;
static unsigned int threads, idle;
static unsigned int table = 1; /* threads of an earlier one end; 0 is no table's */
static int is_refused;	       /* the kernel gives threads no table of their own */

void gn_prefetch_pool_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&work, NULL);
	pthread_cond_init(&done, NULL);
	first = NULL;
	last = &first;
	threads = idle = 0;
	table++;
}

/* With the lock, which keeps two threads from opening it both. */
static int open_file(struct gn_direct_file *file)
{
	struct stat status;
	char path[64];
	int fd;

	if (file->table == table && file->fd >= 0)
		return file->fd;
	snprintf(path, sizeof(path), "/proc/self/task/%d/fd/%d", (int)file->thread,
		 file->program_fd);
	fd = gn_mio_system_open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* The program may have closed it, and opened another by the same number. */
	if (gn_mio_system_status(fd, &status) || status.st_dev != file->device ||
	    status.st_ino != file->inode) {
		gn_mio_system_close(fd);
		return -EBADF;
	}
	file->fd = fd;
	file->table = table;
	return fd;
}

/* With the lock, which it gives back meanwhile. */
static ssize_t perform(const struct gn_prefetch_job *job)
{
	struct gn_direct_file *file = job->file;
	ssize_t result;
	int fd;

	if (is_refused)
		return -ENOSYS;
	if (!job->to) {
		if (file->table == table && file->fd >= 0)
			gn_mio_system_close(file->fd);
		file->fd = -1;
		return 0;
	}
	fd = open_file(file);
	if (fd < 0)
		return fd;
	pthread_mutex_unlock(&lock);
	result = gn_mio_system_pread(fd, job->to, job->bytes, job->offset);
	pthread_mutex_lock(&lock);
	return result;
}

/* With the lock; 0: the thread has to end. */
static int wait_for_work(unsigned int own_table)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += IDLE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	idle++;
	while (!first && !error && own_table == table)
		error = pthread_cond_timedwait(&work, &lock, &until);
	if (own_table != table)
		return 0;
	if (!first && idle == threads) {
		/* All end: one that stays would keep the table, which a new thread cannot have. */
		threads = idle = 0;
		table++;
		pthread_cond_broadcast(&work);
		return 0;
	}
	idle--;
	return 1;
}

static void *serve(void *of_table);

/* A signal must meet a thread of the program's. With the lock. */
static int start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, serve, (void *)(uintptr_t)table);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (!error) {
		threads++;
	}
	return -error;
}

static void *serve(void *of_table)
{
	const unsigned int own_table = (unsigned int)(uintptr_t)of_table;

	prctl(PR_SET_NAME, "gnomon-prefetch");
	pthread_mutex_lock(&lock);
	if (own_table == table && threads == 1) {
		/* The second thread is started by the first, and so has its table. */
		is_refused = syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) != 0;
		while (threads < GN_PREFETCH_THREADS && !start_thread())
			;
	}
	while (wait_for_work(own_table)) {
		struct gn_prefetch_job *job = first;

		if (!job)
			continue;
		first = job->next;
		if (!first)
			last = &first;
		atomic_store(&job->state, GN_JOB_RUNNING);
		job->result = perform(job);
		atomic_store(&job->state, GN_JOB_DONE);
		pthread_cond_broadcast(&done);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int gn_prefetch_submit(struct gn_prefetch_job *job)
{
	const pid_t thread = (pid_t)syscall(SYS_gettid);
	const int before = errno;
	int error = 0;

	pthread_mutex_lock(&lock);
	job->file->thread = thread;
	if (!threads)
		error = start_thread();
	if (!error) {
		atomic_store(&job->state, GN_JOB_QUEUED);
		job->next = NULL;
		*last = job;
		last = &job->next;
		pthread_cond_signal(&work);
	}
	pthread_mutex_unlock(&lock);
	errno = before;
	return error;
}

static void withdraw(struct gn_prefetch_job *job)
{
	struct gn_prefetch_job **link = &first;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	if (last == &job->next)
		last = link;
	atomic_store(&job->state, GN_JOB_IDLE);
}

void gn_prefetch_wait(struct gn_prefetch_job *job, int is_needed)
{
	int state = atomic_load(&job->state);

	if (state == GN_JOB_IDLE || state == GN_JOB_DONE)
		return;
	pthread_mutex_lock(&lock);
	if (!is_needed && atomic_load(&job->state) == GN_JOB_QUEUED)
		withdraw(job);
	for (;;) {
		state = atomic_load(&job->state);
		if (state == GN_JOB_IDLE || state == GN_JOB_DONE)
			break;
		pthread_cond_wait(&done, &lock);
	}
	pthread_mutex_unlock(&lock);
}

void gn_direct_file_close(struct gn_direct_file *file)
{
	struct gn_prefetch_job job = {.file = file};
	int is_open;

	pthread_mutex_lock(&lock);
	is_open = file->table == table && file->fd >= 0 && threads;
	pthread_mutex_unlock(&lock);
	if (is_open && !gn_prefetch_submit(&job))
		gn_prefetch_wait(&job, 1);
}
