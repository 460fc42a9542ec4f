/*
 * Starting and stopping sections. Source of the rules: HPM Toolkit users guide 3.2.2, sections 3.6
 * and 3.7.
 *
 * A section's time begins when its start returns and ends when its stop is called; counts are those
 * between the two reads. intervals.h adds them up.
 */
#include <errno.h>
#include <string.h>

#include "bare_ticks.h"
#include "fast_path.h"
#include "gnomon/libhpm.h"
#include "intervals.h"
#include "section_engine.h"

static inline uint64_t now(void)
{
	return gn_bare_ticks(hpm_uses_counter);
}

/*
 * Which activations' overhead is measured: the first ones, then every eighth, which stands for
 * eight. Reading the clock twice more at each would cost a thirtieth of all that a start and a stop
 * do.
 */
#define MEASURED_ALL 64
#define MEASURED_EVERY 8

static inline unsigned int weight_of(unsigned int activation)
{
	if (activation < MEASURED_ALL)
		return 1;
	return activation % MEASURED_EVERY ? 0 : MEASURED_EVERY;
}

/*
 * CPU times are asked for at every start and stop of a section's first activations, so that those
 * of a long section are exact, and then when the last answer is old: over many short activations
 * what is missed at starts and at stops evens out.
 */
#define ASKED_ALWAYS 16

static inline void put_usage(const struct hpm_section *section, int is_own, int n_words,
			     uint64_t *words, uint64_t ticks)
{
	struct hpm_context *context = section->context;

	if (is_own && (section->activations <= ASKED_ALWAYS ||
		       ticks - context->usage_ticks > context->usage_for))
		hpm_context_ask_usage(context, ticks);
	words += n_words - HPM_USAGE_WORDS;
	if (context->thread) {
		for (int kind = 0; kind < HPM_KINDS; kind++)
			words[kind] = atomic_load_explicit(&context->thread->calls[kind],
							   memory_order_relaxed);
	} else {
		hpm_context_put_calls(context, words);
	}
	words[2] = context->usage[0];
	words[3] = context->usage[1];
}

/* A start or stop of which there will be a snapshot. */
static inline void count_call(struct hpm_thread *thread, enum hpm_kind kind)
{
	_Atomic uint64_t *calls = &thread->calls[kind];

	/* Nobody else writes it. */
	atomic_store_explicit(calls, atomic_load_explicit(calls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Of numbers that no program has: those of empty sections, while their cost is found. */
__attribute__((cold, noinline)) static struct hpm_section *
find_other(const struct hpm_engine *engine, int id)
{
	int index;

	if (id < HPM_EMPTY_ID || id >= 0)
		return NULL;
	index = id - HPM_EMPTY_ID;
	return engine->empty[index / HPM_EMPTY][index % HPM_EMPTY];
}

static struct hpm_section *find(const struct hpm_engine *engine, int id)
{
	if (id < 1 || id >= engine->id_end)
		return find_other(engine, id);
	return atomic_load_explicit(&engine->section[id], memory_order_acquire);
}

/* Whether this thread may use a section so; says why not. */
static inline int is_usable(struct hpm_section *section, const struct hpm_thread *thread,
			    enum hpm_function function)
{
	const enum hpm_kind kind = hpm_kind_of(function);

	if (section->kind != kind) {
		hpm_error(section, HPM_WRONG_KIND,
			  "%s(%d): section %d was started by %s, which counts %s; give each kind "
			  "its own numbers",
			  hpm_function_name[function], section->id, section->id,
			  kind == HPM_THREAD ? "hpmStart" : "hpmTstart",
			  kind == HPM_THREAD ? "all threads" : "one thread");
		return 0;
	}
	if (kind == HPM_THREAD && section->context != &thread->context) {
		hpm_error(section, HPM_WRONG_THREAD,
			  "%s(%d): thread %d started it first, and this is thread %d; give each "
			  "thread its own numbers",
			  hpm_function_name[function], section->id, section->context->thread->tid,
			  thread->tid);
		return 0;
	}
	return 1;
}

/* --- who is whose child ----------------------------------------------------------------------- */

/* Room for another start. Before the context is locked: memory has a lock of its own. */
__attribute__((cold)) static void make_room(struct hpm_engine *engine,
					    struct hpm_section_stack *frames)
{
	const int room = frames->room ? 2 * frames->room : 256;
	const int held = hpm_mutex_hold(&engine->mutex);

	frames->next = hpm_arena_alloc(engine, (size_t)room * sizeof(struct hpm_section *));
	frames->next_room = frames->next ? room : 0;
	hpm_mutex_release(&engine->mutex, held);
}

static int push(struct hpm_section_stack *frames, struct hpm_section *section)
{
	if (frames->n == frames->room) {
		if (frames->next_room <= frames->room)
			return -ENOMEM;
		if (frames->n)
			memcpy(frames->next, frames->section,
			       (size_t)frames->n * sizeof(struct hpm_section *));
		frames->section = frames->next;
		frames->room = frames->next_room;
	}
	frames->section[frames->n++] = section;
	return 0;
}

/* Takes out the last start of a section, which mostly is the last of all; 0 if there is none. */
static int pop(struct hpm_section_stack *frames, const struct hpm_section *section)
{
	int depth = frames->n - 1;

	while (depth >= 0 && frames->section[depth] != section)
		depth--;
	if (depth < 0)
		return 0;
	frames->n--;
	if (depth < frames->n)
		memmove(&frames->section[depth], &frames->section[depth + 1],
			(size_t)(frames->n - depth) * sizeof(struct hpm_section *));
	return 1;
}

/* The last start that was not stopped, of those before number n. */
static struct hpm_section *last_of(const struct hpm_section_stack *frames, int n)
{
	/* What another thread stopped is still here. */
	while (n > 0 && !frames->section[n - 1]->depth)
		n--;
	return n > 0 ? frames->section[n - 1] : NULL;
}

/*
 * The section that a start is in: the last one of its kind that its thread started or, of a
 * thread's, one of all threads that this thread started later, or that is active on whatever
 * thread.
 */
static struct hpm_section *around(const struct hpm_engine *engine, struct hpm_thread *thread,
				  enum hpm_kind kind)
{
	const struct hpm_section_stack *frames = &thread->frames[kind];
	struct hpm_section *own = last_of(frames, frames->n - 1), *all;

	if (kind == HPM_PROCESS)
		return own;
	all = atomic_load_explicit(&thread->around, memory_order_relaxed);
	if (own)
		return all && all->begin_ticks > own->begin_ticks ? all : own;
	return all ? all : atomic_load_explicit(&engine->around, memory_order_acquire);
}

/* The parent that a start names; NULL: it has none, or names none that it could be. */
static struct hpm_section *parent_of(const struct hpm_engine *engine, struct hpm_thread *thread,
				     struct hpm_section *section, enum hpm_function function,
				     int parent)
{
	struct hpm_section *section_of_id;
	const char *what;

	if (parent == HPM_NO_PARENT)
		return NULL;
	if (parent == HPM_AUTO_PARENT || parent == HPM_ONLY_EXCLUSIVE)
		return around(engine, thread, section->kind);
	section_of_id = find(engine, parent);
	if (section_of_id && section_of_id != section &&
	    (section_of_id->kind == section->kind || section_of_id->kind == HPM_PROCESS))
		return section_of_id;
	what = !section_of_id		  ? "which was never started"
	       : section_of_id == section ? "which is itself"
					  : "which counts one thread only";
	hpm_error(section, HPM_BAD_PARENT,
		  "%s(%d, %d): it is to be a child of section %d, %s; start a parent before that "
		  "counts what the child counts, or give HPM_AUTO_PARENT or HPM_NO_PARENT",
		  hpm_function_name[function], section->id, parent, parent, what);
	return NULL;
}

typedef void relate(struct hpm_section *parent, int n_words, const uint64_t *words, uint64_t ticks);

/* The same where the parent's counters are not the child's: they are read for it. */
__attribute__((cold, noinline)) static void tell_thread(const struct hpm_engine *engine,
							struct hpm_section *parent, relate *tell)
{
	struct hpm_context *context = parent->context;
	const int is_own = context->thread == hpm_self;
	uint64_t ticks = now();

	if (is_own)
		hpm_lock_own(context);
	else
		hpm_lock(context);
	if (parent->depth && parent->is_tracked && context->is_open) {
		if (hpm_context_read(engine, context, is_own, context->scratch))
			parent->was_lost = 1;
		put_usage(parent, is_own, engine->layout.n_words, context->scratch, ticks);
		ticks = now();
	}
	tell(parent, engine->layout.n_words, context->scratch, ticks);
	if (is_own)
		hpm_unlock_own(context);
	else
		hpm_unlock(context);
}

/* --- of a thread's section in one of all threads ---------------------------------------------- */

/* A start, before the thread's counters are read: what it takes is the parent's. */
static void tell_process_begins(struct hpm_engine *engine, struct hpm_section *section)
{
	struct hpm_section *parent = section->parent;

	if (!parent || parent->kind == section->kind || !parent->is_tracked)
		return;
	hpm_lock_own(&engine->process);
	thread_child_begins(parent, section, now());
	hpm_unlock_own(&engine->process);
}

/* A stop, after they were read. The thread's context is locked; that of all threads comes after it.
 */
static void tell_process_ends(struct hpm_engine *engine, struct hpm_section *section,
			      const uint64_t *words, uint64_t ticks, int failed)
{
	if (!section->is_told)
		return;
	hpm_lock_own(&engine->process);
	thread_child_ends(section->parent, section, engine->layout.n_words, words, ticks,
			  failed || section->was_lost);
	hpm_unlock_own(&engine->process);
}

/* --- of a section of all threads that a thread starts in one of its own ------------------------
 */

/*
 * Its own one is without what it counts meanwhile. NULL: there is none that would have to know. The
 * thread's context is locked from here on if there is one.
 */
static struct hpm_section *lock_within(const struct hpm_engine *engine, struct hpm_thread *thread,
				       uint64_t *ticks)
{
	const struct hpm_section_stack *frames = &thread->frames[HPM_THREAD];
	struct hpm_section *within = last_of(frames, frames->n);
	struct hpm_context *context = &thread->context;

	if (!within || !within->is_tracked)
		return NULL;
	hpm_lock_own(context);
	if (!context->is_open || hpm_context_read(engine, context, 1, context->scratch))
		within->was_lost = 1;
	*ticks = now();
	put_usage(within, 1, engine->layout.n_words, context->scratch, *ticks);
	return within;
}

static void enter_process(struct hpm_engine *engine, struct hpm_thread *thread,
			  struct hpm_section *section)
{
	section->below = atomic_load_explicit(&engine->around, memory_order_relaxed);
	atomic_store_explicit(&engine->around, section, memory_order_release);
	atomic_store_explicit(&thread->around, section, memory_order_relaxed);
}

static void leave_process(struct hpm_engine *engine, struct hpm_section *section)
{
	struct hpm_section *above = atomic_load_explicit(&engine->around, memory_order_relaxed);
	struct hpm_thread *starter = section->starter;
	const struct hpm_section_stack *frames = &starter->frames[HPM_PROCESS];

	if (above == section)
		atomic_store_explicit(&engine->around, section->below, memory_order_release);
	while (above && above->below != section)
		above = above->below;
	if (above)
		above->below = section->below;
	atomic_store_explicit(&starter->around, last_of(frames, frames->n), memory_order_relaxed);
}

/* --- the usual case --------------------------------------------------------------------------- */

/*
 * A thread's section whose counters one read gives, of which no exclusive values are asked for and
 * whose parent, if any, is of that kind, too, or is of all threads and asks for none: the same as
 * below in a third of the instructions, which after a system call take twice their time. 0: it is
 * not that case, and nothing was done.
 */
static inline int start_quickly(struct hpm_thread *thread, struct hpm_section *section)
{
	struct hpm_context *context = &thread->context;
	struct hpm_section_stack *frames = &thread->frames[HPM_THREAD];
	const int n = thread->engine->layout.n_words;
	struct hpm_section *parent = NULL, *all;
	unsigned int weight;
	uint64_t entry = 0;

	if (section->quick_context != context || section->depth || frames->n >= frames->room)
		return 0;
	all = atomic_load_explicit(&thread->around, memory_order_relaxed);
	if (frames->n) {
		parent = frames->section[frames->n - 1];
		if (parent->quick_context != context)
			return 0;
		if (all && all->begin_ticks > parent->begin_ticks)
			parent = NULL;
		else
			all = NULL;
	} else if (!all) {
		all = atomic_load_explicit(&thread->engine->around, memory_order_acquire);
	}
	if (all && all->is_tracked)
		return 0;
	weight = weight_of(section->activations);
	if (weight)
		entry = now();
	if (!hpm_try_own(context))
		return 0;
	if (atomic_load_explicit(&thread->engine->state, memory_order_relaxed) != HPM_RUNNING ||
	    hpm_read(context->quick_fd, section->begin, (size_t)context->quick_bytes) !=
		    context->quick_bytes) {
		hpm_release_own(context);
		return 0;
	}
	section->begin_ticks = now();
	section->activations++;
	count_call(thread, HPM_THREAD);
	put_usage(section, 1, n, section->begin, section->begin_ticks);
	section->weight = weight;
	section->parent = parent;
	section->slot->parent = all ? all->id : 0;
	if (parent) {
		parent->children++;
		section->slot->parent = parent->id;
	}
	section->slot->is_active = 1;
	section->was_lost = 0;
	section->depth = 1;
	thread->active++;
	frames->section[frames->n++] = section;
	if (weight)
		section->slot->overhead_ticks += weight * (section->begin_ticks - entry);
	hpm_release_own(context);
	return 1;
}

static inline int stop_quickly(struct hpm_thread *thread, struct hpm_section *section,
			       uint64_t entry)
{
	struct hpm_context *context = &thread->context;
	struct hpm_section_stack *frames = &thread->frames[HPM_THREAD];
	const int n = thread->engine->layout.n_words;
	struct hpm_section *parent = section->parent;
	struct hpm_raw_slot *slot = section->slot;
	const struct hpm_raw_copy *old;
	struct hpm_raw_copy *new;
	uint32_t sequence;

	if (section->quick_context != context || section->depth != 1 || section->was_lost ||
	    !frames->n || frames->section[frames->n - 1] != section ||
	    (parent && parent->quick_context != context) || !hpm_try_own(context))
		return 0;
	/* Another thread may have stopped it, for the output. */
	if (!section->depth || hpm_read(context->quick_fd, context->scratch,
					(size_t)context->quick_bytes) != context->quick_bytes) {
		hpm_release_own(context);
		return 0;
	}
	count_call(thread, HPM_THREAD);
	put_usage(section, 1, n, context->scratch, entry);
	sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
	old = hpm_raw_copy_of(slot, (uint32_t)n, sequence);
	new = hpm_raw_copy_of(slot, (uint32_t)n, sequence + 1);
	new->count = old->count + 1;
	new->wall_ticks =
		old->wall_ticks + (entry > section->begin_ticks ? entry - section->begin_ticks : 0);
	new->first_ticks = old->count ? old->first_ticks : section->begin_ticks;
	new->last_ticks = entry;
	new->lost = old->lost;
	add_difference(new->word, old->word, context->scratch, section->begin, n);
	atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_release);
	slot->is_active = 0;
	section->depth = 0;
	thread->active--;
	frames->n--;
	if (parent)
		parent->children--;
	if (section->weight)
		slot->overhead_ticks += section->weight * (now() - entry);
	hpm_release_own(context);
	return 1;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* The parent's part of a start or stop on `words`, unless that is of another thread. */
static void tell_parent(const struct hpm_engine *engine, struct hpm_section *section, relate *tell,
			const uint64_t *words, uint64_t ticks, int failed)
{
	struct hpm_section *parent = section->parent;

	if (!parent || parent->context != section->context)
		return;
	parent->was_lost |= failed && parent->is_tracked;
	tell(parent, engine->layout.n_words, words, ticks);
}

/* A thread's section, on whatever thread, that is to hear of it without any lock held. */
static struct hpm_section *far_of(const struct hpm_section *section)
{
	struct hpm_section *parent = section->parent;

	if (section->kind == HPM_PROCESS)
		return section->within;
	if (!parent || parent->kind == HPM_PROCESS || parent->context == section->context)
		return NULL;
	return parent;
}

static void tell_far(const struct hpm_engine *engine, struct hpm_section *far, relate *tell)
{
	if (far)
		tell_thread(engine, far, tell);
}

static void begin(struct hpm_engine *engine, struct hpm_thread *thread, struct hpm_section *section)
{
	struct hpm_context *context = section->context;
	const int is_own = !context->thread || context->thread == thread;

	section->starter = thread;
	section->is_tracked = engine->keeps_exclusive || section->slot->is_exclusive;
	section->slot->parent = section->parent ? section->parent->id : 0;
	section->slot->is_active = 1;
	if (context->thread)
		context->thread->active++;
	else
		enter_process(engine, thread, section);
	section->is_partly = section->thread_children > 0;
	tell_process_begins(engine, section);
	section->was_lost =
		!context->is_open || hpm_context_read(engine, context, is_own, section->begin);
	section->begin_ticks = now();
	count_call(thread, section->kind);
	put_usage(section, is_own, engine->layout.n_words, section->begin, section->begin_ticks);
	section->quick_context = context->thread && context->quick_fd >= 0 &&
						 context->locking == HPM_BY_STORES &&
						 !section->is_tracked
					 ? context
					 : NULL;
	section->depth = 1;
	if (section->children && section->is_tracked)
		begin_cover(section, engine->layout.n_words, section->begin, section->begin_ticks);
	if (section->thread_children && section->is_tracked)
		cover_wall(section, section->begin_ticks, 1);
	tell_parent(engine, section, child_begins, section->begin, section->begin_ticks,
		    section->was_lost);
}

/* At its first start; the first of a kind tells what starts and stops cost. */
__attribute__((cold, noinline)) static struct hpm_section *
make(struct hpm_engine *engine, struct hpm_thread *thread, enum hpm_kind kind, int id,
     const char *label, size_t length, const void *from)
{
	struct hpm_section *section =
		hpm_section_create(engine, thread, kind, id, label, length, from);

	if (section && section->context->is_open && !engine->is_calibrated[kind])
		hpm_calibrate(engine, thread, kind, hpm_start, hpm_stop);
	return section;
}

void hpm_start(enum hpm_function function, int id, int parent, const char *label, size_t length,
	       const void *from)
{
	const enum hpm_kind kind = hpm_kind_of(function);
	struct hpm_thread *thread = hpm_enter(function, id);
	struct hpm_section *section, *far = NULL, *within = NULL;
	struct hpm_engine *engine;
	struct hpm_context *context;
	struct hpm_section_stack *frames;
	struct hpm_raw_slot *slot = NULL;
	uint64_t entry = 0, ticks = 0;

	if (!thread)
		return;
	engine = thread->engine;
	section = find(engine, id);
	if (section && kind == HPM_THREAD && parent == HPM_AUTO_PARENT && !engine->keeps_places &&
	    start_quickly(thread, section)) {
		hpm_leave(thread);
		return;
	}
	if (!section && !hpm_is_number(engine, id))
		section = hpm_bad_id(engine, function, id);
	else if (!section)
		section = make(engine, thread, kind, id, label, length, from);
	/* To make a section, and to open counters, is no part of what its calls cost. */
	if (section && weight_of(section->activations))
		entry = now();
	if (!section || !is_usable(section, thread, function)) {
		hpm_told = NULL;
		goto out;
	}
	context = section->context;
	frames = &thread->frames[kind];
	/* Others only ever take starts out of it. */
	if (__atomic_load_n(&frames->n, __ATOMIC_RELAXED) == frames->room)
		make_room(engine, frames);
	if (engine->keeps_places)
		slot = hpm_place_slot(engine, thread, section, from);
	if (kind == HPM_PROCESS)
		within = lock_within(engine, thread, &ticks);
	hpm_lock_own(context);
	if (atomic_load_explicit(&engine->state, memory_order_relaxed) != HPM_RUNNING ||
	    push(frames, section)) {
		hpm_unlock_own(context);
		goto out;
	}
	if (section->depth) {
		/* In its own set of time already: only the matching stop ends it. */
		section->depth++;
		if (section->weight && entry)
			section->slot->overhead_ticks += section->weight * (now() - entry);
		hpm_unlock_own(context);
		goto out;
	}
	if (within)
		child_begins(within, engine->layout.n_words, thread->context.scratch, ticks);
	if (slot)
		section->slot = slot;
	section->within = within;
	section->parent = parent_of(engine, thread, section, function, parent);
	if (parent == HPM_ONLY_EXCLUSIVE && !section->slot->is_exclusive) {
		if (engine->keeps_exclusive)
			forget_exclusive(section, engine->layout.n_words);
		section->slot->is_exclusive = 1;
	}
	if (kind == HPM_THREAD)
		far = far_of(section);
	section->weight = weight_of(section->activations++);
	begin(engine, thread, section);
	/* begin_ticks is the end of this call but for this addition. */
	if (entry)
		section->slot->overhead_ticks += section->weight * (section->begin_ticks - entry);
	hpm_unlock_own(context);
	tell_far(engine, far, child_begins);
out:
	if (within)
		hpm_unlock_own(&thread->context);
	hpm_leave(thread);
}

/* Ends what is active by a snapshot. Its context is locked. */
static void end(struct hpm_engine *engine, struct hpm_section *section, const uint64_t *words,
		uint64_t ticks, int failed)
{
	const int n = engine->layout.n_words;

	section->depth = 0;
	section->slot->is_active = 0;
	if (section->context->thread)
		section->context->thread->active--;
	else
		leave_process(engine, section);
	if (section->is_covered)
		end_cover(section, n, words, ticks);
	cover_wall(section, ticks, 0);
	section->is_partly |= section->thread_children > 0;
	add_up(engine, section, words, ticks, failed);
	if (section->is_tracked)
		forget_cover(section, n);
	tell_parent(engine, section, child_ends, words, ticks, failed);
	tell_process_ends(engine, section, words, ticks, failed);
}

__attribute__((cold)) static void not_started(struct hpm_section *section,
					      enum hpm_function function, int id)
{
	hpm_error(section, HPM_NOT_STARTED,
		  "%s(%d): the section is not active; start it before, and stop it once for every "
		  "start",
		  hpm_function_name[function], id);
}

void hpm_stop(enum hpm_function function, int id)
{
	const uint64_t entry = now();
	const enum hpm_kind kind = hpm_kind_of(function);
	struct hpm_thread *thread = hpm_enter(function, id);
	struct hpm_section *section, *far = NULL;
	struct hpm_engine *engine;
	struct hpm_context *context;
	int failed, is_own;

	if (!thread)
		return;
	engine = thread->engine;
	section = find(engine, id);
	if (section && kind == HPM_THREAD && stop_quickly(thread, section, entry)) {
		hpm_leave(thread);
		return;
	}
	if (!section) {
		if (!hpm_is_number(engine, id))
			hpm_bad_id(engine, function, id);
		else
			not_started(NULL, function, id);
		goto out;
	}
	if (!is_usable(section, thread, function))
		goto out;
	context = section->context;
	hpm_lock_own(context);
	if (!section->depth) {
		hpm_unlock_own(context);
		not_started(section, function, id);
		goto out;
	}
	if (!pop(&thread->frames[kind], section))
		pop(&section->starter->frames[kind], section);
	if (section->depth > 1) {
		section->depth--;
		section->slot->nested++;
		if (section->weight)
			section->slot->overhead_ticks += section->weight * (now() - entry);
		hpm_unlock_own(context);
		goto out;
	}
	is_own = !context->thread || context->thread == thread;
	failed = !context->is_open || hpm_context_read(engine, context, is_own, context->scratch);
	count_call(thread, kind);
	put_usage(section, is_own, engine->layout.n_words, context->scratch, entry);
	far = far_of(section);
	end(engine, section, context->scratch, entry, failed);
	if (section->weight)
		section->slot->overhead_ticks += section->weight * (now() - entry);
	hpm_unlock_own(context);
	tell_far(engine, far, child_ends);
out:
	hpm_leave(thread);
}

/* Stops what is active of a context, all by one snapshot. */
static void stop_context(struct hpm_engine *engine, struct hpm_context *context)
{
	uint64_t *words = context->scratch;
	uint64_t ticks = 0;
	int failed = 0;

	hpm_lock(context);
	for (int id = 1; id < engine->id_end; id++) {
		struct hpm_section *section = engine->section[id];
		struct hpm_section *far;

		if (!section || section->context != context || !section->depth)
			continue;
		if (!ticks) {
			ticks = now();
			failed = !context->is_open || hpm_context_read(engine, context, 0, words);
			put_usage(section, !context->thread || context->thread == hpm_self,
				  engine->layout.n_words, words, ticks);
		}
		far = far_of(section);
		end(engine, section, words, ticks, failed);
		if (!far)
			continue;
		hpm_unlock(context);
		tell_far(engine, far, child_ends);
		hpm_lock(context);
		/* It may have been this context's turn to be told, with the same memory. */
		ticks = 0;
	}
	hpm_unlock(context);
}

void hpm_stop_all(struct hpm_engine *engine)
{
	const int before = errno;
	struct hpm_thread *threads;
	int held;

	/* Who comes later finds that it is over. */
	held = hpm_mutex_hold(&engine->mutex);
	threads = engine->threads;
	hpm_mutex_release(&engine->mutex, held);
	/* What threads counted in sections of all threads is subtracted from those while they last.
	 */
	for (struct hpm_thread *thread = threads; thread; thread = thread->next)
		stop_context(engine, &thread->context);
	stop_context(engine, &engine->process);
	errno = before;
}

/* --- looking ---------------------------------------------------------------------------------- */

void hpm_get(enum hpm_function function, int n, double *seconds, long long *values)
{
	const int before = errno;
	struct hpm_thread *thread = hpm_enter(function, 0);
	const struct hpm_raw *raw;
	struct hpm_context *context;
	struct hpm_engine *engine;
	int events;

	if (!thread)
		return;
	engine = thread->engine;
	context = &thread->context;
	raw = &engine->file.raw;
	events = (int)raw->header->n_events;
	if (!context->is_open && !context->error) {
		const int held = hpm_mutex_hold(&engine->mutex);

		hpm_context_open(engine, context);
		hpm_mutex_release(&engine->mutex, held);
	}
	hpm_lock_own(context);
	if (!context->is_open || hpm_context_read(engine, context, 1, context->scratch))
		events = 0;
	for (int w = 0; events && w < engine->layout.n_words; w++)
		context->scratch[w] -= context->zero[w];
	if (n < 0)
		n = (int)raw->header->n_events;
	for (int e = 0; values && e < n; e++) {
		hpm_event_info info;

		values[e] = -1;
		if (e >= events)
			continue;
		hpm_event_value(raw, (uint32_t)e, context->scratch, &info);
		if (info.how != HPM_UNAVAILABLE && info.value > -0x1p63 && info.value < 0x1p63)
			values[e] = (long long)info.value;
	}
	if (seconds)
		*seconds = (double)(gn_clock_ns() - engine->init_ns) / 1e9;
	hpm_unlock_own(context);
	hpm_leave(thread);
	errno = before;
}
