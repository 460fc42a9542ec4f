/* Open counters of a thread, or of all threads and processes: their snapshots and their locks. */
#ifndef GNOMON_HPM_COUNTER_CONTEXT_H
#define GNOMON_HPM_COUNTER_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <gnomon/perf.h>

#include "fast_path.h"
#include "section_file.h"

struct hpm_engine;
struct hpm_thread;

/* The native events of one kernel group. */
struct hpm_counter_group {
	int n;
	int word; /* where it begins in a snapshot, which is what read(2) gives of every pack */
	int is_turning;
	uint32_t pmu;
	struct gn_event_spec *spec;
};

struct hpm_layout {
	int n_packs;
	int n_words;   /* of a snapshot: what is read of all packs, then HPM_USAGE_WORDS */
	int has_clock; /* pack 0 */
	int rotates;   /* our own thread lets packs take turns */
	uint64_t slice_ns;
	struct hpm_counter_group *pack;
};

/* How a context is locked by those who mostly do. */
enum hpm_locking {
	HPM_BY_STORES, /* a thread's own */
	HPM_BY_MUTEX,
	HPM_NOT_AT_ALL, /* HPM_USE_PTHREAD_MUTEX=no */
};

/* Counters that are open: a thread's own, or those of all threads and processes. */
struct hpm_context {
	/*
	 * Of a thread's context: the thread has it, or another one wants it; see hpm_lock(). Of all
	 * threads' context: locked. That is the lock of the context's sections, too.
	 */
	_Atomic int is_held;
	_Atomic int is_claimed;
	pthread_mutex_t claim; /* of those who claim it */
	enum hpm_locking locking;
	enum hpm_kind kind;
	int quick_fd; /* one read(2) of so many bytes of it gives the snapshot; -1: more is needed
		       */
	int quick_bytes;
	int is_open;
	int error; /* the errno, where it could not be opened */
	int n_targets;
	struct gn_group **group; /* [n_targets * n_packs], target after target */
	uint64_t usage[2];	 /* as getrusage(2) said last, */
	uint64_t usage_ticks;	 /* and when */
	uint64_t usage_for;	 /* so long it holds; on average */
	uint64_t usage_every;	 /* that long */
	uint32_t usage_asked;
	uint64_t *zero; /* the snapshot when it was opened */
	uint64_t *scratch;
	struct hpm_engine *engine;
	struct hpm_thread *thread; /* whose; NULL: everybody's */
};

/* Memory that stays for as long as the process; zero. NULL: there is none. engine->mutex is held.
 */
void *hpm_arena_alloc(struct hpm_engine *engine, size_t bytes);

/* Counters to be opened later; zero before. 0 or -ENOMEM. engine->mutex is held. */
int hpm_context_make(struct hpm_engine *engine, struct hpm_context *context, enum hpm_kind kind,
		     struct hpm_thread *thread);

/* Opens the counters, which count from then on. A failure is reported. engine->mutex is held. */
void hpm_context_open(struct hpm_engine *engine, struct hpm_context *context);
void hpm_context_close(struct hpm_engine *engine, struct hpm_context *context);

/* In a child: gives back what it got of its parent's descriptors, which go on counting there. */
void hpm_context_forget(struct hpm_engine *engine, struct hpm_context *context);

/* The words of starts and stops of all threads. */
void hpm_context_put_calls(const struct hpm_context *context, uint64_t *words);

/* Asks for the CPU times; those of a thread's context only by that thread. */
__attribute__((cold)) void hpm_context_ask_usage(struct hpm_context *context, uint64_t ticks);

/* The counts now. 0 or a negative errno. is_own: the calling thread's. errno stays. */
int hpm_context_read_all(const struct hpm_engine *engine, const struct hpm_context *context,
			 int is_own, uint64_t *words);

static inline int hpm_context_read(const struct hpm_engine *engine,
				   const struct hpm_context *context, int is_own, uint64_t *words)
{
	if (context->quick_fd >= 0 &&
	    hpm_read(context->quick_fd, words, (size_t)context->quick_bytes) ==
		    context->quick_bytes)
		return 0;
	return hpm_context_read_all(engine, context, is_own, words);
}

__attribute__((cold)) void hpm_lock_by_mutex(struct hpm_context *context);
__attribute__((cold)) void hpm_unlock_by_mutex(struct hpm_context *context);
__attribute__((cold)) void hpm_wait_for_claim(struct hpm_context *context);

/*
 * A context is nearly always locked by the thread whose it is, which then costs two plain stores:
 * whoever else wants it says so and makes the kernel order the memory of all threads
 * (membarrier(2)) before it looks whether the thread has it.
 */
/* Locks it if it is locked by stores and nobody claims it; 0 if not. */
static inline int hpm_try_own(struct hpm_context *context)
{
	atomic_store_explicit(&context->is_held, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(!atomic_load_explicit(&context->is_claimed, memory_order_acquire), 1))
		return 1;
	atomic_store_explicit(&context->is_held, 0, memory_order_release);
	return 0;
}

static inline void hpm_release_own(struct hpm_context *context)
{
	atomic_store_explicit(&context->is_held, 0, memory_order_release);
}

/*
 * Locks a mutex, which whoever is cancelled meanwhile gives back before the thread ends. Returns
 * what hpm_mutex_release() wants.
 */
static inline int hpm_mutex_hold(pthread_mutex_t *mutex)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(mutex);
	return cancel_state;
}

static inline void hpm_mutex_release(pthread_mutex_t *mutex, int cancel_state)
{
	pthread_mutex_unlock(mutex);
	pthread_setcancelstate(cancel_state, NULL);
}

static inline void hpm_lock_own(struct hpm_context *context)
{
	if (__builtin_expect(context->locking != HPM_BY_STORES, 0)) {
		hpm_lock_by_mutex(context);
		return;
	}
	atomic_store_explicit(&context->is_held, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&context->is_claimed, memory_order_acquire), 0))
		hpm_wait_for_claim(context);
}

static inline void hpm_unlock_own(struct hpm_context *context)
{
	if (__builtin_expect(context->locking != HPM_BY_STORES, 0))
		hpm_unlock_by_mutex(context);
	else
		atomic_store_explicit(&context->is_held, 0, memory_order_release);
}

/* The same by another thread than the context's. */
void hpm_lock(struct hpm_context *context);
void hpm_unlock(struct hpm_context *context);

#endif
