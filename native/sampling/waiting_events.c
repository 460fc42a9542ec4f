#include "waiting_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* `fd` has those of the same CPU. */
static int open_waiting(const struct gn_sampled_events *events, uint32_t cpu, uint32_t event,
			const int *fd)
{
	struct perf_event_attr attr = events->attr[event];

	attr.disabled = attr.enable_on_exec = events->leader[event] == event;
	return gn_sampled_events_open_one(events, &attr, event, events->target, events->cpu[cpu],
					  fd);
}

static int open_all(struct gn_waiting_events *waiting, struct gn_sampled_events *events)
{
	for (uint32_t cpu = 0; cpu < events->n_cpus; cpu++) {
		const int ring = gn_sampled_events_ring_fd(events, cpu);
		int *of_cpu = &waiting->fd[cpu * events->n_events];

		for (uint32_t event = 0; ring >= 0 && event < events->n_events; event++) {
			const int fd = open_waiting(events, cpu, event, of_cpu);
			int failed;

			if (fd < 0)
				return fd;
			of_cpu[event] = fd;
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0)
				return -errno;
			failed = gn_event_numbers_add(&events->numbers, fd, event);
			if (failed)
				return failed;
		}
	}
	return 0;
}

int gn_waiting_events_open(struct gn_waiting_events *waiting, struct gn_sampled_events *events)
{
	const uint32_t n = events->n_cpus * events->n_events;
	int failed;

	memset(waiting, 0, sizeof(*waiting));
	waiting->fd = malloc(n * sizeof(*waiting->fd));
	if (!waiting->fd)
		return -ENOMEM;
	waiting->n_fds = n;
	for (uint32_t i = 0; i < n; i++)
		waiting->fd[i] = -1;
	failed = open_all(waiting, events);
	if (failed)
		gn_waiting_events_close(waiting);
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
