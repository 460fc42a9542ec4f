#include "waiting_events.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `fd` has those of the same CPU. */
static int open_event(const struct gn_sampled_events *events, uint32_t cpu, uint32_t event,
		      int32_t pid, const int *fd)
{
	struct perf_event_attr attr = events->attr[event];

	attr.disabled = attr.enable_on_exec = 0;
	if (pid == events->target)
		attr.disabled = attr.enable_on_exec = events->leader[event] == event;
#ifdef PERF_ATTR_SIZE_VER7
	/* Those that wait are inherited, too, and begin there. */
	else
		attr.remove_on_exec = 1;
#endif
	if (events->off >> event & 1) {
		attr.disabled = 1;
		attr.enable_on_exec = 0;
	}
	return gn_sampled_events_open_one(events, &attr, event, pid, events->cpu[cpu], fd);
}

static int open_all(struct gn_sampled_events *events, int32_t pid, int *fd)
{
	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++) {
		const int ring = gn_sampled_events_ring_fd(events, cpu);
		int *of_cpu = &fd[cpu * events->n_events];

		for (uint32_t event = 0; ring >= 0 && event < events->n_events; event++) {
			const int opened = open_event(events, cpu, event, pid, of_cpu);
			int failed;

			if (opened < 0)
				return opened;
			of_cpu[event] = opened;
			failed = gn_join_ring(opened, ring, &events->numbers, event);
			if (failed)
				return failed;
		}
	}
	return 0;
}

/* An event hangs up when no task is left that has it. */
static int have_ended(const int *fd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pollfd polled = {.fd = fd[i], .events = POLLIN};

		if (fd[i] >= 0 && (poll(&polled, 1, 0) <= 0 || !(polled.revents & POLLHUP)))
			return 0;
	}
	return 1;
}

/* Room for the events of a process, the first one's being of the target: that of a process that has
 * ended, or more. NULL without memory. */
static int *make_room(struct gn_waiting_events *waiting, uint32_t n)
{
	int *larger;

	for (uint32_t i = n; i < waiting->n_fds; i += n)
		if (have_ended(&waiting->fd[i], n)) {
			gn_close_events(&waiting->fd[i], n);
			return &waiting->fd[i];
		}
	larger = realloc(waiting->fd, (waiting->n_fds + n) * sizeof(*larger));
	if (!larger)
		return NULL;
	waiting->fd = larger;
	larger += waiting->n_fds;
	for (uint32_t i = 0; i < n; i++)
		larger[i] = -1;
	waiting->n_fds += n;
	return larger;
}

int gn_waiting_events_open(struct gn_waiting_events *waiting, struct gn_sampled_events *events)
{
	int failed;

	memset(waiting, 0, sizeof(*waiting));
	if (!make_room(waiting, events->n_cpus * events->n_events))
		return -ENOMEM;
	failed = open_all(events, events->target, waiting->fd);
	if (failed)
		gn_waiting_events_close(waiting);
	return failed;
}

int gn_waiting_events_replace(struct gn_waiting_events *waiting, struct gn_sampled_events *events,
			      int32_t pid)
{
	const uint32_t n = events->n_cpus * events->n_events;
	int *fd = make_room(waiting, n);
	int failed;

	if (!fd)
		return -ENOMEM;
	failed = open_all(events, pid, fd);
	if (failed)
		gn_close_events(fd, n);
	return failed;
}

void gn_waiting_events_disable(const struct gn_waiting_events *waiting)
{
	gn_disable_events(waiting->fd, waiting->n_fds);
}

void gn_waiting_events_close(struct gn_waiting_events *waiting)
{
	gn_close_events(waiting->fd, waiting->n_fds);
	free(waiting->fd);
	memset(waiting, 0, sizeof(*waiting));
}
