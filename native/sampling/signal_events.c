#include "signal_events.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock_ns.h"
#include "task_status.h"

/* Who connects sends at once. */
#define PATIENCE_MS 100

/* Before it a blocked signal of an event killed the process. */
#define LINUX_MAJOR 5
#define LINUX_MINOR 19

struct gn_signal_process {
	struct gn_signal_process *next;
	int32_t pid;
	uint64_t from_ns, until_ns;
	uint32_t n_fds;
	int fd[];
};

void gn_signal_events_begin(struct gn_signal_events *signals, int socket,
			    const struct gn_sampled_events *events)
{
	memset(signals, 0, sizeof(*signals));
	signals->socket = socket;
	signals->events = events;
}

static void close_all(struct gn_signal_process *process)
{
	gn_close_events(process->fd, process->n_fds);
	process->n_fds = 0;
}

void gn_signal_events_end(struct gn_signal_events *signals)
{
	while (signals->first) {
		struct gn_signal_process *process = signals->first;

		signals->first = process->next;
		close_all(process);
		free(process);
	}
	gn_event_numbers_free(&signals->numbers);
}

int gn_signal_events_cover(const struct gn_signal_events *signals, int32_t pid, uint64_t time_ns)
{
	for (const struct gn_signal_process *process = signals->first; process;
	     process = process->next)
		if (process->pid == pid && time_ns >= process->from_ns &&
		    time_ns < process->until_ns)
			return 1;
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int is_known_to_be_safe(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major > LINUX_MAJOR || (major == LINUX_MAJOR && minor >= LINUX_MINOR);
}

/*
 * Only of threads of the process: a child that it forks asks for itself. `fd` has those of the
 * same thread and CPU.
 */
static int open_signalling(const struct gn_sampled_events *events, uint32_t event, pid_t tid,
			   int cpu, int tells_tasks, const int *fd)
{
#ifdef PERF_ATTR_SIZE_VER7
	struct perf_event_attr attr = events->attr[event];

	attr.inherit = attr.inherit_thread = 1;
	attr.remove_on_exec = 1;
	/* A member of a group takes no samples; of the kernel's part there is nothing to add. */
	attr.sigtrap = events->leader[event] == event && !(events->of_kernel >> event & 1);
	attr.sig_data = attr.sigtrap ? GN_SIGNAL_DATA : 0;
	attr.disabled = events->off >> event & 1;
	attr.enable_on_exec = 0;
	if (attr.sample_stack_user)
		attr.sample_stack_user = events->signalled_stack_bytes;
	if (!tells_tasks)
		attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
	attr.size = gn_attr_size(&attr);
	return gn_sampled_events_open_one(events, &attr, event, tid, cpu, fd);
#else
	(void)events, (void)event, (void)tid, (void)cpu, (void)tells_tasks, (void)fd;
	return -EOPNOTSUPP;
#endif
}

static int open_of_thread(struct gn_signal_events *signals, struct gn_signal_process *process,
			  pid_t tid, int tells_tasks)
{
	const struct gn_sampled_events *events = signals->events;

	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++) {
		const int ring = gn_sampled_events_ring_fd(events, cpu);
		const int *of_cpu = &process->fd[process->n_fds];

		for (uint32_t event = 0; ring >= 0 && event < events->n_events; event++) {
			const int fd = open_signalling(events, event, tid, events->cpu[cpu],
						       tells_tasks, of_cpu);
			int failed;

			if (fd < 0)
				return fd;
			process->fd[process->n_fds++] = fd;
			failed = gn_join_ring(fd, ring, &signals->numbers, event);
			if (failed)
				return failed;
		}
	}
	return 0;
}

/* The threads of a process that there are now; their number, or a negative errno. */
static int list_threads(int32_t pid, pid_t **threads)
{
	char path[40];
	struct dirent *entry;
	DIR *folder;
	int n = 0;

	*threads = NULL;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		const int tid = atoi(entry->d_name);
		pid_t *larger =
			tid > 0 ? realloc(*threads, (size_t)(n + 1) * sizeof(**threads)) : NULL;

		if (tid > 0 && !larger) {
			n = -ENOMEM;
			break;
		}
		if (larger) {
			*threads = larger;
			larger[n++] = tid;
		}
	}
	closedir(folder);
	return n;
}

/*
 * They are stopped, not closed: that would wait for the process, which waits for the answer. What
 * is left of processes that have ended or executed another program is closed by and by.
 */
void gn_signal_events_stop(struct gn_signal_events *signals, int32_t pid)
{
	for (struct gn_signal_process *process = signals->first; process; process = process->next) {
		if (process->pid != pid || process->until_ns != UINT64_MAX)
			continue;
		gn_disable_events(process->fd, process->n_fds);
		process->until_ns = gn_clock_ns(CLOCK_MONOTONIC);
	}
}

/* An event whose task has ended or executed another program hangs up. */
static int has_ended(const struct gn_signal_process *process)
{
	struct pollfd polled = {.events = POLLIN};

	if (!process->n_fds)
		return 0;
	polled.fd = process->fd[process->n_fds - 1];
	return poll(&polled, 1, 0) > 0 && polled.revents & POLLHUP;
}

static void close_ended(struct gn_signal_events *signals)
{
	for (struct gn_signal_process *process = signals->first; process; process = process->next)
		if (has_ended(process)) {
			if (process->until_ns == UINT64_MAX)
				process->until_ns = gn_clock_ns(CLOCK_MONOTONIC);
			close_all(process);
		}
}

/*
 * A tracer (strace, gdb) stops the process at each signal, and at each system call of its handler:
 * it would take longer than until the next.
 */
static int is_traced(int32_t pid)
{
	return gn_task_status(pid, "TracerPid:") > 0;
}

int gn_signal_events_open(struct gn_signal_events *signals, int32_t pid, int tells_tasks)
{
	const struct gn_sampled_events *events = signals->events;
	struct gn_signal_process *process;
	pid_t *threads = NULL;
	int result, n;

	close_ended(signals);
	gn_signal_events_stop(signals, pid);
	if (!is_known_to_be_safe() || is_traced(pid))
		return -EOPNOTSUPP;
	n = list_threads(pid, &threads);
	if (n < 0) {
		free(threads);
		return n;
	}
	process = calloc(1, sizeof(*process) +
				    (size_t)n * events->n_cpus * events->n_events * sizeof(int));
	result = process ? 0 : -ENOMEM;
	for (int i = 0; !result && i < n; i++)
		result = open_of_thread(signals, process, threads[i], tells_tasks);
	free(threads);
	if (!process)
		return result;
	process->pid = pid;
	process->from_ns = gn_clock_ns(CLOCK_MONOTONIC);
	process->until_ns = result ? 0 : UINT64_MAX;
	process->next = signals->first;
	signals->first = process;
	if (result)
		close_all(process);
	return result;
}

/* --- the socket ------------------------------------------------------------------------------- */

static int read_request(int connection, struct gn_signal_asker *asker)
{
	struct pollfd polled = {.fd = connection, .events = POLLIN};
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);

	/* A process that this one cannot see has the number 0. */
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.pid <= 0)
		return -ESRCH;
	asker->pid = peer.pid;
	if (poll(&polled, 1, PATIENCE_MS) != 1 ||
	    recv(connection, &asker->request, sizeof(asker->request), 0) != sizeof(asker->request))
		return -EPROTO;
	return 0;
}

int gn_signal_events_accept(const struct gn_signal_events *signals, struct gn_signal_asker *asker)
{
	for (;;) {
		int failed;

		asker->connection = accept4(signals->socket, NULL, NULL, SOCK_CLOEXEC);
		if (asker->connection < 0)
			return 0;
		failed = read_request(asker->connection, asker);
		if (!failed)
			return 1;
		gn_signal_events_answer(asker, failed);
	}
}

void gn_signal_events_answer(const struct gn_signal_asker *asker, int32_t answer)
{
	/* Who has gone meanwhile needs none. */
	(void)!send(asker->connection, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(asker->connection);
}

void gn_signal_events_disable(const struct gn_signal_events *signals)
{
	for (const struct gn_signal_process *process = signals->first; process;
	     process = process->next)
		gn_disable_events(process->fd, process->n_fds);
}

void gn_signal_events_switch(const struct gn_signal_events *signals, uint64_t off, uint64_t on)
{
	const uint32_t n = signals->events->n_events;

	for (const struct gn_signal_process *process = signals->first; process;
	     process = process->next)
		gn_switch_events(process->fd, process->n_fds, n, off,
				 process->until_ns == UINT64_MAX ? on : 0);
}
