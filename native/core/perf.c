/* Groups of perf events. Source: perf_event_open(2), include/uapi/linux/perf_event.h. */
#include <gnomon/perf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_calls.h"

/* Sizes of struct perf_event_attr that kernels have used, PERF_ATTR_SIZE_VER0 onwards. */
static const uint32_t attr_sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136};

#if defined(__aarch64__)
/* config1 bits of the arm_pmuv3 driver: a 64-bit counter, and leave to read it from user space. */
#define ARM64_LONG 0x1
#define ARM64_RDPMC 0x2
#endif

void gn_attr_init(struct perf_event_attr *attr, const struct gn_event_spec *spec, uint32_t flags)
{
	memset(attr, 0, sizeof(*attr));
	attr->type = spec->type;
	attr->config = spec->config;
	attr->config1 = spec->config1;
	attr->config2 = spec->config2;
#ifdef PERF_ATTR_SIZE_VER8
	attr->config3 = spec->config3;
#endif
	attr->exclude_user = !!(spec->exclude & GN_EXCLUDE_USER);
	attr->exclude_kernel = !!(spec->exclude & GN_EXCLUDE_KERNEL);
	attr->exclude_hv = !!(spec->exclude & GN_EXCLUDE_HYPERVISOR);
	attr->exclude_host = !!(spec->exclude & GN_EXCLUDE_HOST);
	attr->exclude_guest = !!(spec->exclude & GN_EXCLUDE_GUEST);
	attr->exclude_idle = !!(spec->exclude & GN_EXCLUDE_IDLE);
	attr->inherit = !!(flags & (GN_INHERIT | GN_INHERIT_THREADS));
	attr->inherit_thread = !!(flags & GN_INHERIT_THREADS);
	attr->inherit_stat = !!(flags & GN_INHERIT_STAT);
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (flags & GN_INHERIT_STAT)
		attr->read_format |= PERF_FORMAT_ID;
	if (spec->period) {
		attr->sample_period = spec->period;
		attr->sample_type = spec->sample_type;
		attr->precise_ip = spec->precise & 3;
		attr->watermark = spec->watermark != 0;
		attr->wakeup_events = spec->watermark ? spec->watermark : 1;
	}
	if (flags & GN_ADDRESS_RECORDS) {
		attr->sample_period = 1;
		attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
		attr->mmap = attr->mmap_data = attr->mmap2 = 1;
		attr->task = attr->comm = attr->comm_exec = 1;
		attr->sample_id_all = 1;
		attr->watermark = 1;
		attr->wakeup_watermark = 1u << 13;
	}
	/* One event of a group is enough to carry them, and only a dummy should: it counts nothing.
	 */
	if ((flags & GN_TASK_RECORDS) && spec->type == PERF_TYPE_SOFTWARE &&
	    spec->config == PERF_COUNT_SW_DUMMY) {
		attr->task = 1;
		attr->comm = 1;
		attr->comm_exec = 1;
		attr->sample_id_all = 1;
		attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		attr->watermark = 1;
		attr->wakeup_watermark = 1u << 16;
	}
	attr->size = gn_attr_size(attr);
}

uint32_t gn_attr_size(const struct perf_event_attr *attr)
{
	const unsigned char *byte = (const unsigned char *)attr;
	const size_t skip = offsetof(struct perf_event_attr, size);
	size_t used = sizeof(*attr);

	/* The size field itself is not a reason for a larger size. */
	while (used > attr_sizes[0] && byte[used - 1] == 0)
		used--;
	if (used <= skip + sizeof(attr->size))
		return attr_sizes[0];
	for (size_t i = 0; i < sizeof(attr_sizes) / sizeof(attr_sizes[0]); i++) {
		if (attr_sizes[i] >= used)
			return attr_sizes[i];
	}
	return sizeof(*attr);
}

int gn_perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* With GN_CGROUP `pid` is the descriptor of a cgroup's folder. */
static int open_event(const struct gn_group *group, struct perf_event_attr *attr, pid_t pid,
		      int cpu, int group_fd)
{
	const unsigned long flags = PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP;
	long fd;

	if (!(group->flags & GN_CGROUP))
		return gn_perf_open(attr, pid, cpu, group_fd);
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	return fd < 0 ? -errno : (int)fd;
}

static void map_page(struct gn_group *group, int i)
{
	void *page =
		mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, group->fd[i], 0);

	/* A refusal only means that reads take a system call. */
	group->page[i] = page == MAP_FAILED ? NULL : page;
	if (!group->page[i])
		group->mapped = 0;
}

static int open_one(struct gn_group *group, const struct gn_event_spec *spec, int index, pid_t pid,
		    int cpu)
{
	const int leads = spec->leader == index;
	const int group_fd = leads ? -1 : group->fd[spec->leader];
	struct perf_event_attr attr;

	gn_attr_init(&attr, spec, group->flags);
	if (group->whole)
		attr.read_format |= PERF_FORMAT_GROUP;
	if (leads) {
		attr.disabled = !(group->flags & GN_STARTED);
		attr.enable_on_exec = !!(group->flags & GN_ENABLE_ON_EXEC);
		attr.pinned = !!(group->flags & GN_PINNED);
		attr.exclusive = !!(group->flags & GN_EXCLUSIVE);
	}
#if defined(__aarch64__)
	if (spec->type != PERF_TYPE_SOFTWARE && spec->type != PERF_TYPE_TRACEPOINT) {
		/*
		 * When the driver adds up whether a group fits, it leaves out a leader that is off,
		 * unless an execve will enable it (armpmu's validate_event); one event too many
		 * would get in, and the group would never count. Events of our own process (only
		 * those are read from user space) are closed by its execve; what others execute or
		 * inherit must not be enabled by it.
		 */
		if (leads && (pid == 0 || group->flags & GN_USER_READ) &&
		    !(group->flags & (GN_INHERIT | GN_INHERIT_THREADS)))
			attr.enable_on_exec = 1;
		/* 64 bits where the PMU has such counters (always that of cycles), else 32. */
		if ((group->flags & GN_USER_READ) && !spec->config1) {
			static const uint64_t ways[] = {ARM64_LONG | ARM64_RDPMC, ARM64_RDPMC};

			for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
				int fd;

				attr.config1 = ways[way];
				fd = open_event(group, &attr, pid, cpu, group_fd);
				if (fd >= 0)
					return fd;
			}
			attr.config1 = 0;
		}
	}
#endif
	return open_event(group, &attr, pid, cpu, group_fd);
}

/* 0, or -EINVAL if the leader of one of n further events is none. */
static int check_leaders(const struct gn_group *group, const struct gn_event_spec *spec, int n)
{
	for (int i = 0; i < n; i++) {
		const int leader = spec[i].leader, index = group->n + i;
		const int own = leader - group->n;

		if (leader < 0 || leader > index)
			return -EINVAL;
		if (leader < group->n ? group->leader[leader] != leader
				      : spec[own].leader != leader)
			return -EINVAL;
	}
	return 0;
}

static void close_from(struct gn_group *group, int first)
{
	/* Members before their leader, so that none becomes a leader on the way. */
	for (int i = group->n - 1; i >= first; i--) {
		if (group->page[i])
			munmap(group->page[i], (size_t)sysconf(_SC_PAGESIZE));
		close(group->fd[i]);
	}
	if (group->n > first)
		group->n = first;
}

/*
 * When the kernel switches between two threads whose events were all inherited, it exchanges their
 * contexts, and then the counts of those with inherit_stat one by one, in the order of the two
 * contexts' lists (perf_event_sync_stat). That order is another where events were opened in a
 * context that had inherited some: counts of one event end up in another, ours or not. One event
 * that is not inherited forbids the exchange. Who counts a program with inherit_stat sets
 * GNOMON_PER_THREAD for it.
 */
static void open_anchor(struct gn_group *group, pid_t pid)
{
	const struct gn_event_spec dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR,
	};
	struct perf_event_attr attr;

	if (group->has_anchor || group->flags & GN_CGROUP || pid < 0 ||
	    !(group->flags & (GN_INHERIT | GN_INHERIT_THREADS)) || !getenv("GNOMON_PER_THREAD"))
		return;
	gn_attr_init(&attr, &dummy, 0);
	attr.disabled = 1;
	group->anchor = gn_perf_open(&attr, pid, -1, -1);
	group->has_anchor = group->anchor >= 0;
}

static void close_anchor(struct gn_group *group)
{
	if (group->has_anchor)
		close(group->anchor);
	group->has_anchor = 0;
}

static int add_events(struct gn_group *group, const struct gn_event_spec *spec, int n, pid_t pid,
		      int cpu, int *failed)
{
	const int first = group->n;

	open_anchor(group, pid);
	for (int i = 0; i < n; i++) {
		const int index = first + i;
		const int fd = open_one(group, &spec[i], index, pid, cpu);

		if (fd < 0) {
			*failed = i;
			close_from(group, first);
			if (!first)
				close_anchor(group);
			return fd;
		}
		group->fd[index] = fd;
		group->leader[index] = spec[i].leader;
		group->page[index] = NULL;
		group->n = index + 1;
		if (spec[i].type == PERF_TYPE_SOFTWARE || spec[i].type == PERF_TYPE_TRACEPOINT)
			group->mapped = 0; /* such a page offers nothing */
		else if (group->flags & GN_USER_READ)
			map_page(group, index);
	}
	return 0;
}

static void find_mapped(struct gn_group *group)
{
	group->mapped = !!(group->flags & GN_USER_READ);
	for (int i = 0; i < group->n; i++)
		group->mapped &= !!group->page[i];
}

void gn_group_begin(struct gn_group *group, uint32_t flags)
{
	group->n = 0;
	group->has_anchor = 0;
	group->flags = flags;
	/* The kernel sums an inherited group only event by event on every kernel we know. */
	group->whole = !(flags & (GN_INHERIT | GN_INHERIT_THREADS | GN_INDEPENDENT));
	group->mapped = !!(flags & GN_USER_READ);
}

int gn_group_open(struct gn_group *group, const struct gn_event_spec *spec, int n, pid_t pid,
		  int cpu, uint32_t flags, int *failed)
{
	int unused;

	if (!failed)
		failed = &unused;
	*failed = -1;
	group->n = 0;
	if (n < 1 || n > GN_EVENTS_MAX || check_leaders(group, spec, n))
		return -EINVAL;
	gn_group_begin(group, flags);
	for (int i = 0; i < n; i++) {
		if (spec[i].leader != 0)
			group->whole = 0;
	}
	return add_events(group, spec, n, pid, cpu, failed);
}

int gn_group_add_led(struct gn_group *group, const struct gn_event_spec *spec, int n, pid_t pid,
		     int cpu, int *failed)
{
	const int mapped = group->mapped;
	int unused, result;

	if (!failed)
		failed = &unused;
	*failed = -1;
	if (n < 1 || n > GN_EVENTS_MAX - group->n || check_leaders(group, spec, n))
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		if (group->whole && spec[i].leader != 0)
			return -EINVAL;
	}
	result = add_events(group, spec, n, pid, cpu, failed);
	if (result)
		group->mapped = mapped;
	return result;
}

int gn_group_add(struct gn_group *group, const struct gn_event_spec *spec, pid_t pid, int cpu)
{
	struct gn_event_spec led = *spec;

	led.leader = 0;
	return gn_group_add_led(group, &led, 1, pid, cpu, NULL);
}

int gn_group_remove(struct gn_group *group, int index)
{
	if (index < 0 || index >= group->n)
		return -EINVAL;
	for (int i = 0; i < group->n; i++) {
		if (i != index && group->leader[i] == index)
			return -EBUSY;
	}
	if (group->page[index])
		munmap(group->page[index], (size_t)sysconf(_SC_PAGESIZE));
	close(group->fd[index]);
	group->n--;
	for (int i = 0; i < group->n; i++) {
		if (i >= index) {
			group->fd[i] = group->fd[i + 1];
			group->leader[i] = group->leader[i + 1];
			group->page[i] = group->page[i + 1];
		}
		group->leader[i] -= group->leader[i] > index;
	}
	find_mapped(group);
	return 0;
}

void gn_group_close(struct gn_group *group)
{
	close_from(group, 0);
	close_anchor(group);
}

static int each_leader(const struct gn_group *group, unsigned long request, unsigned long flags)
{
	for (int i = 0; i < group->n; i++) {
		if (group->leader[i] == i && ioctl(group->fd[i], request, flags) < 0)
			return -errno;
	}
	return 0;
}

/*
 * A leader takes its group along: members are opened enabled and wait for it. They must not be
 * enabled one by one (PERF_IOC_FLAG_GROUP): where their PMU is another (the kernel's clocks have
 * one each), Linux 6.18 leaves them off until the next context switch.
 */
int gn_group_enable(struct gn_group *group)
{
	return each_leader(group, PERF_EVENT_IOC_ENABLE, 0);
}

int gn_group_disable(struct gn_group *group)
{
	return each_leader(group, PERF_EVENT_IOC_DISABLE, 0);
}

int gn_group_reset(struct gn_group *group)
{
	return each_leader(group, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

static int read_mapped(const struct gn_group *group, struct gn_reading *out)
{
	struct gn_count count;

	for (int i = 0; i < group->n; i++) {
		if (!gn_user_read(group->page[i], &count))
			return 0;
		out->value[i] = count.value;
		if (i == 0) {
			out->enabled = count.enabled;
			out->running = count.running;
		}
	}
	out->nr = (uint64_t)group->n;
	return 1;
}

int gn_group_read(const struct gn_group *group, struct gn_reading *out)
{
	const size_t size = gn_reading_size(group->n);
	ssize_t got;

	if (!group->whole || group->n == 0)
		return -EINVAL;
	if (group->mapped && read_mapped(group, out))
		return 0;
	got = gn_read(group->fd[0], out, size);
	if (got == (ssize_t)size)
		return 0;
	/* End of file is how the kernel says that a pinned group lost its counters. */
	return got < 0 ? -errno : -EBUSY;
}

int gn_group_read_each(const struct gn_group *group, struct gn_count *out)
{
	/* {value, enabled, running} and, with GN_INHERIT_STAT, the event's id. */
	uint64_t word[4];

	if (group->whole && group->n > 1) {
		struct {
			struct gn_reading head;
			uint64_t value[GN_EVENTS_MAX];
		} all;
		int failed = gn_group_read(group, &all.head);

		for (int i = 0; !failed && i < group->n; i++) {
			out[i].value = all.value[i];
			out[i].enabled = all.head.enabled;
			out[i].running = all.head.running;
		}
		return failed;
	}
	for (int i = 0; i < group->n; i++) {
		ssize_t got = gn_read(group->fd[i], word, sizeof(word));
		const uint64_t *times = group->whole ? word + 1 : word;

		if (got < (ssize_t)(3 * sizeof(uint64_t)))
			return got < 0 ? -errno : -EBUSY;
		out[i].value = group->whole ? word[3] : times[0];
		out[i].enabled = group->whole ? times[0] : times[1];
		out[i].running = group->whole ? times[1] : times[2];
	}
	return 0;
}
