/*
 * What belongs to this process and not to one that it was forked from: the locks, and the list of
 * places that are counted.
 */
#ifndef GNOMON_COUNTERS_FORK_STATE_H
#define GNOMON_COUNTERS_FORK_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* In place of a CPU: what around `pid` is counted. */
#define GN_PLACE_PROCESS (-2)
#define GN_PLACE_PROCESS_GROUP (-3)

/*
 * Where a set counts: a thread (pid; cpu -1: wherever it runs), all that is around it (above), or a
 * CPU (pid -1; cpu -1: all of them). Of each component one set can run in one place, or in places
 * that overlap; `running` has a bit for each component that does.
 */
struct gn_place {
	_Atomic uint64_t running;
	int pid;
	int cpu;
	int users;
	int has_ended; /* the thread has; another one may get its number */
	struct gn_place *next;
	struct gn_place *before_fork; /* what this thread's place was in the parent */
};

/* On a page that the kernel clears in a forked child: unlocked, and empty. */
struct gn_process {
	_Atomic uint32_t epoch; /* which process of its line this is, from 1 */
	pthread_mutex_t lock;
	struct gn_place *places;
	_Atomic int wide;    /* of these: places that can overlap with others */
	uint32_t first_free; /* slots of sets that were destroyed: index + 1, oldest first */
	uint32_t last_free;
};

/* The calling thread. */
struct gn_self {
	uint32_t epoch;
	int tid;
	struct gn_place *place;
};

/* NULL: out of memory. Never NULL for who has a set. */
struct gn_process *gn_process(void);

/* What gn_process() gives; NULL before its first call. */
extern struct gn_process *_Atomic gn_process_page;

/* The epoch of the running process; 0 in a child that has not called gn_process() yet. */
static inline uint32_t gn_epoch(void)
{
	struct gn_process *page = atomic_load_explicit(&gn_process_page, memory_order_acquire);

	return page ? atomic_load_explicit(&page->epoch, memory_order_relaxed) : 0;
}

/* NULL: out of memory. */
const struct gn_self *gn_self(void);

/* Whether that is the calling thread of this process. */
int gn_is_self(uint32_t epoch, int tid);

struct gn_place *gn_target_claim(int pid, int cpu);
void gn_target_release(struct gn_place *place);

/*
 * Claims components for a set that is to run there. Returns 0, or, with nothing claimed, those that
 * run there or in a place that overlaps already.
 */
uint64_t gn_place_claim(struct gn_place *place, uint64_t components);
void gn_place_release(struct gn_place *place, uint64_t components);

#endif
