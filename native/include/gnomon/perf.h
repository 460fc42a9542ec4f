/*
 * Groups of perf events: open, enable, disable, reset and read.
 *
 * Source: perf_event_open(2). Every function returns 0 (or a count) or a negative errno, and the
 * errno is the kernel's own: nothing is translated, so that callers can say what it means.
 * Nothing here allocates, locks or uses stdio; a struct gn_group is owned by its caller.
 */
#ifndef GNOMON_PERF_H
#define GNOMON_PERF_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GN_EVENTS_MAX 256

/* What an event does not count; bits of struct gn_event_spec.exclude. */
enum gn_exclude {
	GN_EXCLUDE_USER = 1u << 0,
	GN_EXCLUDE_KERNEL = 1u << 1,
	GN_EXCLUDE_HYPERVISOR = 1u << 2,
	GN_EXCLUDE_HOST = 1u << 3,
	GN_EXCLUDE_GUEST = 1u << 4,
	GN_EXCLUDE_IDLE = 1u << 5,
};

/* How a group is opened; bits of the flags of gn_group_open(). */
enum gn_open_flags {
	/* Threads and processes created later count too; such events are read one by one. */
	GN_INHERIT = 1u << 0,
	/* Counting begins when a child executes a program. */
	GN_ENABLE_ON_EXEC = 1u << 1,
	/* The leader holds its counters always, or goes into an error state. */
	GN_PINNED = 1u << 2,
	GN_EXCLUSIVE = 1u << 3,
	/* An exiting thread writes its counts into the ring buffer (PERF_RECORD_READ). */
	GN_INHERIT_STAT = 1u << 4,
	/* Forks, exits and names of tasks go into the ring buffer. */
	GN_TASK_RECORDS = 1u << 5,
	/* Map the counters, so that the calling thread may read its own without a system call. */
	GN_USER_READ = 1u << 6,
	/* Count from the moment of opening. */
	GN_STARTED = 1u << 7,
	/* As GN_INHERIT, but for threads only, not for processes; Linux 5.13. */
	GN_INHERIT_THREADS = 1u << 8,
	/* Events that lead themselves may be added, so that all are read one by one. */
	GN_INDEPENDENT = 1u << 9,
	/* The pid is a descriptor of a cgroup's folder: what runs in it, on the given CPU. */
	GN_CGROUP = 1u << 10,
	/* Each event with its address goes into the ring buffer, and so do mappings and tasks. */
	GN_ADDRESS_RECORDS = 1u << 11,
};

struct gn_event_spec {
	uint32_t type;
	uint32_t exclude;
	/* Index of the event whose kernel group this one joins; its own index for a leader. */
	int32_t leader;
	uint32_t precise; /* perf's precise_ip, of an event that has a period */
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	uint64_t config3;
	uint64_t period;      /* it overflows each time it has counted so much; 0: never */
	uint64_t sample_type; /* PERF_SAMPLE_* of an event that has a period */
	uint32_t watermark;   /* bytes in its ring that wake the reader; 0: every overflow does */
};

struct gn_group {
	int n;
	uint32_t flags;
	/* All events are in one kernel group, so that one read(2) returns them all. */
	int whole;
	/* Every event has a mapped page; whether the kernel offers user reads is asked each time.
	 */
	int mapped;
	/* Opened beside inherited events where GNOMON_PER_THREAD asks for it; see perf.c. */
	int has_anchor;
	int anchor;
	int fd[GN_EVENTS_MAX];
	int leader[GN_EVENTS_MAX];
	struct perf_event_mmap_page *page[GN_EVENTS_MAX];
};

/* One event's count and its two times, in nanoseconds. */
struct gn_count {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

/*
 * What read(2) of a group returns (PERF_FORMAT_GROUP with both times), kept in the kernel's
 * layout so that a read goes straight to where the caller wants it:
 *
 *	u64 nr; u64 time_enabled; u64 time_running; u64 value[nr];
 */
struct gn_reading {
	uint64_t nr;
	uint64_t enabled;
	uint64_t running;
	uint64_t value[];
};

static inline size_t gn_reading_size(int n)
{
	return sizeof(struct gn_reading) + (size_t)n * sizeof(uint64_t);
}

/* Zero the attr and fill in what is common to every event. */
void gn_attr_init(struct perf_event_attr *attr, const struct gn_event_spec *spec, uint32_t flags);

/*
 * The smallest attr size, among those that kernels have ever used, that still covers every
 * non-zero byte: an older kernel then takes the event whenever it can.
 */
uint32_t gn_attr_size(const struct perf_event_attr *attr);

/* perf_event_open(2) with close-on-exec; the descriptor or a negative errno. */
int gn_perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);

/*
 * Open n events on a thread (pid 0 is the calling one) and CPU (-1 is any), disabled unless
 * GN_STARTED is given. On failure nothing stays open and *failed is the index of the event that
 * the kernel refused. Errors: -EINVAL for n out of range or a bad leader, else the kernel's.
 */
int gn_group_open(struct gn_group *group, const struct gn_event_spec *spec, int n, pid_t pid,
		  int cpu, uint32_t flags, int *failed);

/*
 * A group that grows: begin it empty, then add event after event, each opened at once. All are one
 * kernel group, which the first one leads. A failed add leaves the group as it was: the kernel's
 * error, or -EINVAL for too many events. With GN_USER_READ only events of a PMU are mapped.
 */
void gn_group_begin(struct gn_group *group, uint32_t flags);
int gn_group_add(struct gn_group *group, const struct gn_event_spec *spec, pid_t pid, int cpu);

/*
 * The same for n events at once, led as `leader` says, which counts the events that are there, too;
 * of a whole group it is 0. *failed is the index in `spec` of the event that was refused.
 */
int gn_group_add_led(struct gn_group *group, const struct gn_event_spec *spec, int n, pid_t pid,
		     int cpu, int *failed);

/*
 * Close one event; those behind it move up. -EINVAL: no such index; -EBUSY: it leads others, which
 * the kernel would make independent.
 */
int gn_group_remove(struct gn_group *group, int index);

void gn_group_close(struct gn_group *group);

int gn_group_enable(struct gn_group *group);
int gn_group_disable(struct gn_group *group);
int gn_group_reset(struct gn_group *group);

/*
 * Read a whole group into `out`, which has room for n values: without a system call where the
 * kernel offers that, else with one. -EINVAL if the events are not one kernel group.
 */
int gn_group_read(const struct gn_group *group, struct gn_reading *out);

/* Read every event by itself, with its own times; works for every group. */
int gn_group_read_each(const struct gn_group *group, struct gn_count *out);

/*
 * Read one counter of the calling thread from its mapped page (x86 rdpmc, arm64 mrs), by the
 * page's sequence lock. 1 when that worked, 0 when the kernel does not offer it now.
 */
int gn_user_read(const struct perf_event_mmap_page *page, struct gn_count *out);

#ifdef __cplusplus
}
#endif

#endif
