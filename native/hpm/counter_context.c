/* Counters of a thread, or of all threads and processes: opening, reading, taking turns. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "fast_path.h"
#include "own_calls.h"
#include "section_engine.h"

#define ARENA_BYTES (256 * 1024)
#define TASKS_MAX 65536

/*
 * The kernel itself accounts user and system time by its ticks of a few milliseconds; to ask more
 * often tells little more.
 */
#define EVERY_MS 10
#define MAPPED_EVERY_MS 100

/* --- memory ----------------------------------------------------------------------------------- */

/* Not malloc(3): a section may be started in a signal handler. */
void *hpm_arena_alloc(struct hpm_engine *engine, size_t bytes)
{
	void *taken;

	bytes = bytes ? (bytes + 63) / 64 * 64 : 64;
	if (bytes > engine->arena_left) {
		const size_t size = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
		void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		if (block == MAP_FAILED)
			return NULL;
		engine->arena = block;
		engine->arena_left = size;
	}
	taken = engine->arena;
	engine->arena += bytes;
	engine->arena_left -= bytes;
	/* Its pages are there before any section counts faults. */
	memset(taken, 0, bytes);
	return taken;
}

/* --- waiting ---------------------------------------------------------------------------------- */

#define MOMENT_NS 20000

void hpm_lock_by_mutex(struct hpm_context *context)
{
	if (context->locking == HPM_BY_MUTEX)
		pthread_mutex_lock(&context->claim);
}

void hpm_unlock_by_mutex(struct hpm_context *context)
{
	if (context->locking == HPM_BY_MUTEX)
		pthread_mutex_unlock(&context->claim);
}

void hpm_wait_for_claim(struct hpm_context *context)
{
	while (atomic_load(&context->is_claimed)) {
		atomic_store(&context->is_held, 0);
		/* Who claims it has it until then. */
		pthread_mutex_lock(&context->claim);
		atomic_store(&context->is_held, 1);
		pthread_mutex_unlock(&context->claim);
	}
}

void hpm_lock(struct hpm_context *context)
{
	if (context->locking != HPM_BY_STORES) {
		hpm_lock_by_mutex(context);
		return;
	}
	pthread_mutex_lock(&context->claim);
	atomic_store(&context->is_claimed, 1);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	while (atomic_load(&context->is_held))
		gn_pause(MOMENT_NS);
}

void hpm_unlock(struct hpm_context *context)
{
	if (context->locking != HPM_BY_STORES) {
		hpm_unlock_by_mutex(context);
		return;
	}
	atomic_store(&context->is_claimed, 0);
	pthread_mutex_unlock(&context->claim);
}

/* --- which tasks ------------------------------------------------------------------------------ */

struct tasks {
	int n;
	int *tid;
};

/* Threads that only change the turns of groups are no part of the program. */
static int is_ours(const char *folder, int tid)
{
	char path[128], comm[32] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%d/comm", folder, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, comm, sizeof(comm) - 1) < 0)
			comm[0] = '\0';
		close(fd);
	}
	return !strcmp(comm, "gnomon-rotate\n");
}

/* Adds the children that the kernel lists of a task, where it was built to list them. */
static void add_children(const char *folder, int tid, int *pids, int *n_pids)
{
	char path[128];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "%s/%d/children", folder, tid);
	file = fopen(path, "re");
	while (file && *n_pids < TASKS_MAX && fscanf(file, "%d", &pid) == 1)
		pids[(*n_pids)++] = pid;
	if (file)
		fclose(file);
}

/* All threads of this process and of those that descend from it. */
static int find_tasks(struct tasks *tasks)
{
	int *pids = malloc(TASKS_MAX * sizeof(*pids));
	int n_pids = 1;

	tasks->n = 0;
	tasks->tid = malloc(TASKS_MAX * sizeof(*tasks->tid));
	if (!pids || !tasks->tid) {
		free(pids);
		free(tasks->tid);
		return -ENOMEM;
	}
	pids[0] = (int)getpid();
	for (int i = 0; i < n_pids; i++) {
		char folder[64];
		struct dirent *entry;
		DIR *open;

		snprintf(folder, sizeof(folder), "/proc/%d/task", pids[i]);
		open = opendir(folder);
		while (open && tasks->n < TASKS_MAX && (entry = readdir(open))) {
			const int tid = atoi(entry->d_name);

			if (tid <= 0 || (i == 0 && is_ours(folder, tid)))
				continue;
			tasks->tid[tasks->n++] = tid;
			add_children(folder, tid, pids, &n_pids);
		}
		if (open)
			closedir(open);
	}
	free(pids);
	if (tasks->n)
		return 0;
	free(tasks->tid);
	return -ESRCH;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* The packs of PMU `pmu` that take turns; `pack` may be NULL. */
static int turns_of(const struct hpm_layout *layout, uint32_t pmu, int *pack)
{
	int n = 0;

	for (int p = 0; p < layout->n_packs; p++) {
		if (layout->pack[p].is_turning && layout->pack[p].pmu == pmu) {
			if (pack)
				pack[n] = p;
			n++;
		}
	}
	return n;
}

static int is_first_of_pmu(const struct hpm_layout *layout, int p)
{
	for (int before = 0; before < p; before++) {
		if (layout->pack[before].is_turning &&
		    layout->pack[before].pmu == layout->pack[p].pmu)
			return 0;
	}
	return layout->pack[p].is_turning;
}

/* Puts the groups of one context that count in turn `turn` at `groups`; returns how many. */
static int put_turn(const struct hpm_layout *layout, const struct hpm_context *context, int turn,
		    struct gn_group **groups)
{
	int packs[HPM_RAW_PACKS_MAX], n = 0;

	for (int p = 0; p < layout->n_packs; p++) {
		int of_pmu;

		if (!is_first_of_pmu(layout, p))
			continue;
		of_pmu = turns_of(layout, layout->pack[p].pmu, packs);
		for (int t = 0; t < context->n_targets; t++) {
			if (groups)
				groups[n] =
					context->group[t * layout->n_packs + packs[turn % of_pmu]];
			n++;
		}
	}
	return n;
}

static int each_context(struct hpm_engine *engine, int turn, struct gn_group **groups)
{
	int n = 0;

	if (engine->process.is_open)
		n += put_turn(&engine->layout, &engine->process, turn, groups);
	for (struct hpm_thread *thread = engine->threads; thread; thread = thread->next) {
		if (thread->context.is_open)
			n += put_turn(&engine->layout, &thread->context, turn,
				      groups ? groups + n : NULL);
	}
	return n;
}

/* Lets the groups of all contexts that are open now take turns. */
static int turn_all(struct hpm_engine *engine)
{
	const struct hpm_layout *layout = &engine->layout;
	struct gn_group **groups;
	int turns = 0, width, error;

	if (!layout->rotates)
		return 0;
	gn_rotation_pause(engine->rotation);
	for (int p = 0; p < layout->n_packs; p++) {
		const int n = is_first_of_pmu(layout, p)
				      ? turns_of(layout, layout->pack[p].pmu, NULL)
				      : 0;

		turns = n > turns ? n : turns;
	}
	width = each_context(engine, 0, NULL);
	if (!width)
		return 0;
	groups = malloc((size_t)turns * (size_t)width * sizeof(struct gn_group *));
	if (!groups)
		return -ENOMEM;
	for (int turn = 0; turn < turns; turn++)
		each_context(engine, turn, groups + turn * width);
	error = gn_rotation_start_wide(&engine->rotation, groups, turns, width, layout->slice_ns);
	free(groups);
	return error;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void close_groups(struct hpm_engine *engine, struct hpm_context *context)
{
	for (int g = 0; g < context->n_targets * engine->layout.n_packs; g++)
		gn_group_close(context->group[g]);
}

/*
 * Opens one pack on one task. A group that is inherited can be read as a whole, too: the kernel
 * adds up the groups of all children (Linux 6.18; older ones may refuse it, and are asked event by
 * event).
 */
static int open_pack(struct gn_group *group, const struct hpm_counter_group *pack, uint32_t flags,
		     int tid, int is_whole)
{
	int error = 0;

	gn_group_begin(group, flags);
	group->whole = is_whole;
	for (int i = 0; !error && i < pack->n; i++)
		error = gn_group_add(group, &pack->spec[i], tid, -1);
	for (int i = 0; !error && i < group->n; i++)
		group->fd[i] = gn_descriptor_raise(group->fd[i]);
	if (!error && group->has_anchor)
		group->anchor = gn_descriptor_raise(group->anchor);
	return error;
}

/* Opens all packs on one task. */
static int open_on(const struct hpm_engine *engine, const struct hpm_context *context, int target,
		   int tid)
{
	const uint32_t flags = context->kind == HPM_PROCESS ? GN_INHERIT : GN_USER_READ;
	const struct hpm_layout *layout = &engine->layout;
	int error = 0;

	for (int p = 0; !error && p < layout->n_packs; p++) {
		const struct hpm_counter_group *pack = &layout->pack[p];
		struct gn_group *group = context->group[target * layout->n_packs + p];

		error = open_pack(group, pack, flags, tid, 1);
		if (error == -EINVAL && context->kind == HPM_PROCESS) {
			gn_group_close(group);
			error = open_pack(group, pack, flags, tid, 0);
		}
		if (!error && !(layout->rotates && pack->is_turning))
			error = gn_group_enable(group);
	}
	return error;
}

static int make_groups(struct hpm_engine *engine, struct hpm_context *context, int n_targets)
{
	const int n = n_targets * engine->layout.n_packs;

	context->group = hpm_arena_alloc(engine, (size_t)n * sizeof(struct gn_group *));
	if (!context->group)
		return -ENOMEM;
	for (int g = 0; g < n; g++) {
		context->group[g] = hpm_arena_alloc(engine, sizeof(struct gn_group));
		if (!context->group[g])
			return -ENOMEM;
	}
	context->n_targets = n_targets;
	return 0;
}

static int open_thread(struct hpm_engine *engine, struct hpm_context *context)
{
	int error = make_groups(engine, context, 1);

	return error ? error : open_on(engine, context, 0, 0);
}

/* A task that ends meanwhile, or that we may not look at, is left out; our own must do. */
static int open_process(struct hpm_engine *engine, struct hpm_context *context)
{
	struct tasks tasks;
	int error = find_tasks(&tasks), opened = 0, first = 0;

	if (error)
		return error;
	error = make_groups(engine, context, tasks.n);
	for (int i = 0; !error && i < tasks.n; i++) {
		const int failed = open_on(engine, context, opened, tasks.tid[i]);

		if (!failed) {
			opened++;
			continue;
		}
		for (int p = 0; p < engine->layout.n_packs; p++)
			gn_group_close(context->group[opened * engine->layout.n_packs + p]);
		if (failed != -ESRCH)
			first = first ? first : failed;
		if (failed == -EMFILE || failed == -ENFILE || failed == -ENOMEM)
			error = failed;
	}
	free(tasks.tid);
	if (error) {
		context->n_targets = opened;
		close_groups(engine, context);
		opened = 0;
	}
	context->n_targets = opened;
	return opened ? 0 : first ? first : error;
}

int hpm_context_make(struct hpm_engine *engine, struct hpm_context *context, enum hpm_kind kind,
		     struct hpm_thread *thread)
{
	const size_t words = (size_t)engine->layout.n_words * sizeof(uint64_t);

	context->kind = kind;
	context->engine = engine;
	context->thread = thread;
	context->quick_fd = -1;
	context->locking = !engine->uses_locks		   ? HPM_NOT_AT_ALL
			   : thread && engine->has_barrier ? HPM_BY_STORES
							   : HPM_BY_MUTEX;
	pthread_mutex_init(&context->claim, NULL);
	context->zero = hpm_arena_alloc(engine, words + 1);
	context->scratch = hpm_arena_alloc(engine, words + 1);
	return context->zero && context->scratch ? 0 : -ENOMEM;
}

void hpm_context_open(struct hpm_engine *engine, struct hpm_context *context)
{
	const int is_thread = context->kind == HPM_THREAD;
	int error, has_group;

	if (context->is_open || context->error || engine->state == HPM_ENDED)
		return;
	error = is_thread ? open_thread(engine, context) : open_process(engine, context);
	if (!error) {
		context->is_open = 1;
		error = turn_all(engine);
	}
	has_group = !error && engine->layout.n_packs;
	if (has_group && context->n_targets == 1 && engine->layout.n_packs == 1 &&
	    context->group[0]->whole && !context->group[0]->mapped)
		context->quick_fd = context->group[0]->fd[0];
	context->quick_bytes = (engine->layout.n_words - HPM_USAGE_WORDS) * (int)sizeof(uint64_t);
	/* Where counts take no system call, times are to take few. */
	context->usage_every =
		engine->ticks_per_ms *
		(has_group && context->group[0]->mapped ? MAPPED_EVERY_MS : EVERY_MS);
	if (!error)
		error = hpm_context_read(engine, context, is_thread, context->zero);
	if (!error)
		return;
	context->error = error;
	context->quick_fd = -1;
	if (context->group)
		close_groups(engine, context);
	context->is_open = 0;
	turn_all(engine);
	hpm_error(NULL, HPM_NO_COUNTERS,
		  "the counters of %s cannot be opened (%s), its sections have times alone; %s",
		  is_thread ? "a thread" : "all threads", strerror(-error),
		  error == -EMFILE ? "raise `ulimit -n`"
				   : "`gnomon doctor` says what is in the way");
}

void hpm_context_close(struct hpm_engine *engine, struct hpm_context *context)
{
	if (!context->is_open)
		return;
	context->is_open = 0;
	context->quick_fd = -1;
	turn_all(engine);
	close_groups(engine, context);
}

void hpm_context_forget(struct hpm_engine *engine, struct hpm_context *context)
{
	if (!context->is_open)
		return;
	for (int g = 0; g < context->n_targets * engine->layout.n_packs; g++) {
		/* The kernel gives a child none of these mappings; something else may be there. */
		for (int i = 0; i < context->group[g]->n; i++)
			context->group[g]->page[i] = NULL;
	}
	close_groups(engine, context);
	context->is_open = 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

void hpm_context_put_calls(const struct hpm_context *context, uint64_t *words)
{
	const struct hpm_thread *thread =
		__atomic_load_n(&context->engine->threads, __ATOMIC_ACQUIRE);

	memset(words, 0, HPM_KINDS * sizeof(*words));
	for (; thread; thread = thread->next) {
		for (int kind = 0; kind < HPM_KINDS; kind++)
			words[kind] +=
				atomic_load_explicit(&thread->calls[kind], memory_order_relaxed);
	}
}

/* --- CPU time --------------------------------------------------------------------------------- */

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

void hpm_context_ask_usage(struct hpm_context *context, uint64_t ticks)
{
	struct rusage own, children = {0};

	if (context->kind == HPM_THREAD)
		getrusage(RUSAGE_THREAD, &own);
	else
		getrusage(RUSAGE_SELF, &own);
	if (context->kind == HPM_PROCESS)
		getrusage(RUSAGE_CHILDREN, &children);
	context->usage[0] = microseconds(&own.ru_utime) + microseconds(&children.ru_utime);
	context->usage[1] = microseconds(&own.ru_stime) + microseconds(&children.ru_stime);
	context->usage_ticks = ticks;
	/*
	 * Not always after the same time: sections that are as regular would always be asked at
	 * their start, or at their stop. Multiples of the golden ratio spread evenly (Knuth 6.4).
	 */
	context->usage_asked += 0x9e3779b9u;
	context->usage_for = context->usage_every / 2 +
			     (context->usage_every * (context->usage_asked >> 16) >> 16);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_group(const struct gn_group *group, int is_own, uint64_t *words)
{
	const long size = (long)gn_reading_size(group->n);
	long got;

	if (is_own && group->mapped)
		return gn_group_read(group, (struct gn_reading *)words);
	got = hpm_read(group->fd[0], words, (size_t)size);
	if (got == size)
		return 0;
	return got < 0 ? (int)got : -EBUSY;
}

static int add_group(const struct gn_group *group, uint64_t *sum)
{
	uint64_t words[3 + GN_EVENTS_MAX];
	const long size = (long)gn_reading_size(group->n);
	const long got = hpm_read(group->fd[0], words, (size_t)size);

	if (got != size)
		return got < 0 ? (int)got : -EBUSY;
	for (int w = 1; w < 3 + group->n; w++)
		sum[w] += words[w];
	return 0;
}

/* Events that are read one by one have their leader's times. */
static int read_inherited(const struct hpm_engine *engine, const struct hpm_context *context,
			  int target, uint64_t *words)
{
	const struct hpm_layout *layout = &engine->layout;

	for (int p = layout->n_packs - 1; p >= 0; p--) {
		const struct gn_group *group = context->group[target * layout->n_packs + p];
		uint64_t *sum = words + layout->pack[p].word;
		const int error = group->whole ? add_group(group, sum) : 0;

		if (error)
			return error;
		for (int i = 0; !group->whole && i < group->n; i++) {
			uint64_t word[3];
			const long got = hpm_read(group->fd[i], word, sizeof(word));

			if (got != (long)sizeof(word))
				return got < 0 ? (int)got : -EBUSY;
			sum[1] += i ? 0 : word[1];
			sum[2] += i ? 0 : word[2];
			sum[3 + i] += word[0];
		}
	}
	return 0;
}

int hpm_context_read_all(const struct hpm_engine *engine, const struct hpm_context *context,
			 int is_own, uint64_t *words)
{
	const struct hpm_layout *layout = &engine->layout;
	int error = 0;

	if (context->kind == HPM_THREAD) {
		/* The clock comes last, so that no group can have run for longer. */
		for (int p = layout->n_packs - 1; !error && p >= 0; p--)
			error = read_group(context->group[p], is_own, words + layout->pack[p].word);
		return error;
	}
	memset(words, 0, (size_t)layout->n_words * sizeof(*words));
	for (int t = 0; !error && t < context->n_targets; t++)
		error = read_inherited(engine, context, t, words);
	return error;
}
