/* Processes, threads and what they count. */
#include "fork_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lifecycle.h"

struct gn_process *_Atomic gn_process_page;
static _Atomic uint32_t epochs;
static _Thread_local struct gn_self self;

static int is_of_cpus(const struct gn_place *place)
{
	return place->pid < 0;
}

/* Whether a place is neither a thread wherever it runs nor one CPU: those overlap with none. */
static int is_wide(const struct gn_place *place)
{
	return is_of_cpus(place) ? place->cpu < 0 : place->cpu != -1;
}

/* Whether a thread belongs to a process; one that has ended belongs to none. */
static int is_thread_of(int pid, int tid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM;
}

static int is_within(const struct gn_place *inner, const struct gn_place *outer)
{
	pid_t group;

	switch (outer->cpu) {
	case GN_PLACE_PROCESS_GROUP:
		group = getpgid(outer->pid);
		return group > 0 && getpgid(inner->pid) == group;
	case GN_PLACE_PROCESS:
		return inner->cpu >= -1 && is_thread_of(outer->pid, inner->pid);
	default:
		return inner->cpu >= -1 && inner->pid == outer->pid &&
		       (inner->cpu == -1 || outer->cpu == -1);
	}
}

static int overlap(const struct gn_place *first, const struct gn_place *second)
{
	if (is_of_cpus(first) || is_of_cpus(second))
		return is_of_cpus(first) && is_of_cpus(second) &&
		       (first->cpu < 0 || second->cpu < 0);
	return is_within(first, second) || is_within(second, first);
}

static void leave_locked(struct gn_process *now, struct gn_place *place)
{
	struct gn_place **link = &now->places;

	if (--place->users > 0)
		return;
	while (*link && *link != place)
		link = &(*link)->next;
	if (*link)
		*link = place->next;
	now->wide -= is_wide(place);
	free(place);
}

/* Sets of the thread may live on, but a new thread of the same number has nothing to do with it. */
static void end_thread(void *argument)
{
	struct gn_place *place = argument;
	struct gn_process *process;

	if (self.epoch != gn_epoch())
		return;
	process = gn_process_page;
	pthread_mutex_lock(&process->lock);
	place->has_ended = 1;
	leave_locked(process, place);
	pthread_mutex_unlock(&process->lock);
	self = (struct gn_self){0};
}

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct gn_process),
	.at_thread_end = end_thread,
};

static void make_process(void)
{
	gn_process_page = gn_lifecycle_begin(&life);
}

struct gn_process *gn_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	struct gn_process *process = gn_process_page;

	if (!process) {
		pthread_once(&once, make_process);
		process = gn_process_page;
	}
	if (process && !atomic_load(&process->epoch)) {
		uint32_t none = 0;

		atomic_compare_exchange_strong(&process->epoch, &none,
					       atomic_fetch_add(&epochs, 1) + 1);
	}
	return process;
}

static struct gn_place *take_locked(struct gn_process *now, int pid, int cpu)
{
	struct gn_place *place = now->places;

	while (place && (place->pid != pid || place->cpu != cpu || place->has_ended))
		place = place->next;
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			return NULL;
		place->pid = pid;
		place->cpu = cpu;
		place->next = now->places;
		now->places = place;
		now->wide += is_wide(place);
	}
	place->users++;
	return place;
}

struct gn_place *gn_target_claim(int pid, int cpu)
{
	struct gn_process *now = gn_process();
	struct gn_place *place;

	if (!now)
		return NULL;
	pthread_mutex_lock(&now->lock);
	place = take_locked(now, pid, cpu);
	pthread_mutex_unlock(&now->lock);
	return place;
}

void gn_target_release(struct gn_place *place)
{
	struct gn_process *process = gn_process_page;

	pthread_mutex_lock(&process->lock);
	leave_locked(process, place);
	pthread_mutex_unlock(&process->lock);
}

void gn_place_release(struct gn_place *place, uint64_t components)
{
	atomic_fetch_and(&place->running, ~components);
}

uint64_t gn_place_claim(struct gn_place *place, uint64_t components)
{
	struct gn_process *now = gn_process_page;
	uint64_t taken = atomic_fetch_or(&place->running, components) & components;

	if (taken) {
		gn_place_release(place, components & ~taken);
		return taken;
	}
	/* Who starts at the same time elsewhere sees this claim, or is seen here. */
	if (!atomic_load(&now->wide))
		return 0;
	pthread_mutex_lock(&now->lock);
	for (const struct gn_place *other = now->places; other && !taken; other = other->next) {
		const uint64_t running = atomic_load(&other->running) & components;

		if (other != place && running && !other->has_ended && overlap(place, other))
			taken = running;
	}
	pthread_mutex_unlock(&now->lock);
	if (taken)
		gn_place_release(place, components);
	return taken;
}

const struct gn_self *gn_self(void)
{
	struct gn_process *now = gn_process();
	struct gn_place *before = self.place;
	int tid;

	if (!now)
		return NULL;
	if (self.epoch == gn_epoch())
		return &self;
	tid = (int)syscall(SYS_gettid);
	self.place = gn_target_claim(tid, -1);
	if (!self.place || gn_lifecycle_watch_thread(&life, self.place)) {
		self = (struct gn_self){.place = before};
		return NULL;
	}
	self.place->before_fork = before;
	self.tid = tid;
	self.epoch = gn_epoch();
	return &self;
}

int gn_is_self(uint32_t epoch, int tid)
{
	return self.epoch == epoch && self.tid == tid;
}
