/*
 * The section engine: what libhpm keeps of a process, its threads and its sections.
 *
 * Counters count all the time. A start or stop reads those of the calling thread, or of all threads
 * and processes, by one system call for each kernel group or by none, and adds up differences.
 */
#ifndef GNOMON_HPM_SECTION_ENGINE_H
#define GNOMON_HPM_SECTION_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <gnomon/perf.h>
#include <gnomon/rotate.h>

#include "counter_context.h"
#include "fast_path.h"
#include "report.h"
#include "section_file.h"

struct gn_stack;
struct hpm_engine;
struct hpm_known_stacks;
struct hpm_places;
struct hpm_section;
struct hpm_thread;

/* Starts that were not stopped yet, the last one at the end. */
struct hpm_section_stack {
	int n;
	int room;
	struct hpm_section **section;
	int next_room; /* a larger one, to be taken when the context is locked */
	struct hpm_section **next;
};

struct hpm_thread {
	struct hpm_engine *engine;
	struct hpm_thread *next;
	struct hpm_thread *next_spare;
	int tid;
	int is_busy; /* in one of libhpm's functions: a signal handler must wait */
	int active;  /* sections of its context */
	/* The last section of all threads that it started and nobody stopped. */
	struct hpm_section *_Atomic around;
	_Atomic uint64_t calls[HPM_KINDS]; /* of starts and stops, by enum hpm_kind */
	struct hpm_context context;
	struct hpm_section_stack frames[2]; /* by enum hpm_kind */
	struct hpm_places *places;	    /* that it has started sections from */
};

struct hpm_section {
	int id;
	enum hpm_kind kind;
	int depth; /* starts that were not stopped */
	int is_tracked;
	unsigned int activations;
	unsigned int weight; /* of this activation's overhead; 0: it is not measured */
	int was_lost;	     /* the counters could not be read at the start */
	int children;	     /* active sections of its kind whose parent this is */
	int is_covered;
	int is_wall_covered;
	/* Of a section of all threads, with the lock of their context: */
	int thread_children; /* active sections of threads whose parent this is */
	int is_partly;	     /* one of these is active before or after it: counts are not known */
	struct hpm_section *below; /* the active one of all threads that was started before it */
	/* and the one of the thread that started it, during which it was started. */
	struct hpm_section *within;
	/* Of a thread's: its parent is of all threads, counts it, and was started so many times. */
	int is_told;
	unsigned int parent_activations;
	unsigned int told; /* errors that were reported, by enum hpm_error */
	struct hpm_context *context;
	struct hpm_context *quick_context; /* the same, where start_quickly() may do */
	struct hpm_thread *starter;
	struct hpm_section *parent;
	struct hpm_raw_slot *slot;	 /* of the place of its last start */
	struct hpm_raw_slot *first_slot; /* of no place, or of all */
	uint64_t begin_ticks;
	uint64_t cover_ticks;	/* since when a child of either kind has been active, too */
	uint64_t covered_ticks; /* total since the start */
	uint64_t *begin;	/* snapshots of those moments */
	uint64_t *cover;
	uint64_t *covered;
};

/* A program or library that is loaded. */
struct hpm_module {
	uintptr_t base;
	char name[HPM_MODULE_MAX]; /* as the loader has it, "" for the program */
	char path[HPM_MODULE_MAX]; /* absolute, or "" */
	char build_id[HPM_BUILD_ID_MAX];
};

/* Sections that nobody else can start: their numbers begin with this one. */
#define HPM_EMPTY 2
#define HPM_EMPTY_ID (-(HPM_KINDS * HPM_EMPTY))

enum hpm_state {
	HPM_RUNNING = 1,
	HPM_ENDING,
	HPM_ENDED,
};

struct hpm_engine {
	_Atomic int state;
	int uses_locks;
	int has_barrier;     /* membarrier(2) */
	int is_exclusive;    /* exclusive values of all sections are written */
	int keeps_exclusive; /* they are kept, for `gnomon run`, too */
	int is_run;	     /* GNOMON_RUN_DIR names a folder */
	int keeps_places;    /* values of sections are kept by the place of their start */
	int is_child;
	int id_limit; /* ids that programs choose are less than it, */
	int id_end;   /* and hpmNewID's, which come after them, than this */
	uint64_t ticks_per_ms;
	uint64_t init_ticks;
	uint64_t init_ns; /* of gn_clock_ns() */
	struct hpm_settings settings;
	struct hpm_layout layout;
	struct hpm_raw_file file;
	struct hpm_context process;
	struct hpm_section *_Atomic *section; /* [id_end] */
	struct hpm_section *_Atomic around;   /* the last one of all threads that is active */
	struct hpm_section *_Atomic empty[HPM_KINDS][HPM_EMPTY]; /* while their cost is found */
	_Atomic int is_calibrated[HPM_KINDS];
	struct gn_rotation *rotation;
	pthread_mutex_t mutex; /* of what follows, and of opening and closing counters */
	struct hpm_thread *threads;
	struct hpm_thread *spare; /* of threads that have ended */
	struct hpm_module module; /* that had the last address of which the place was sought */
	struct hpm_known_stacks *stacks; /* that sections were started from */
	unsigned int n_places;		 /* their numbers are from 1 on */
	char *arena;
	size_t arena_left;
	char notes[2048]; /* for the report */
};

/*
 * The functions that programs call, as messages name them. Even numbers are of all threads, odd
 * ones of the calling one.
 */
enum hpm_function {
	HPM_CALL_START,
	HPM_CALL_TSTART,
	HPM_CALL_STARTX,
	HPM_CALL_TSTARTX,
	HPM_CALL_STOP,
	HPM_CALL_TSTOP,
	HPM_CALL_F_START,
	HPM_CALL_F_TSTART,
	HPM_CALL_F_STARTX,
	HPM_CALL_F_TSTARTX,
	HPM_CALL_F_STOP,
	HPM_CALL_F_TSTOP,
	HPM_CALL_GET_TIME,
	HPM_CALL_GET,
	HPM_CALLS,
};

static inline enum hpm_kind hpm_kind_of(enum hpm_function function)
{
	return function & 1 ? HPM_THREAD : HPM_PROCESS;
}

/* --- errors.c --------------------------------------------------------------------------------- */

extern const char *const hpm_function_name[HPM_CALLS];

enum hpm_error {
	HPM_BAD_ID,
	HPM_BAD_PARENT,
	HPM_WRONG_THREAD,
	HPM_WRONG_KIND,
	HPM_NOT_STARTED,
	HPM_NOT_INITIALISED,
	HPM_TWICE,
	HPM_TERMINATED,
	HPM_IN_SIGNAL,
	HPM_NO_MEMORY,
	HPM_NO_COUNTERS,
	HPM_BAD_GROUP,
	HPM_BAD_EVENT,
	HPM_BAD_PLUGIN,
	HPM_NOT_WRITTEN,
	HPM_ERRORS,
};

/*
 * Counts an error and says so on stderr, once for each kind of error and section (NULL: none).
 * errno stays as it is.
 */
__attribute__((cold, format(printf, 3, 4))) void
hpm_error(struct hpm_section *section, enum hpm_error error, const char *format, ...);

/* --- event_setup.c ---------------------------------------------------------------------------- */

/*
 * Finds what HPM_EVENT_SET and GNOMON_EVENTS ask for and how it can be counted. plan->event and
 * plan->environment are for free(); the layout stays. Events that cannot be counted are in the plan
 * with their reason. 0, or -ENOMEM.
 */
int hpm_event_setup(struct hpm_engine *engine, struct hpm_raw_plan *plan);

/* --- section_ids.c ---------------------------------------------------------------------------- */

/* Where the section of a number is in its program's source. */
struct hpm_place {
	int line;
	char file[];
};

/* Room for numbers below this one, at the first engine of a program. 0, or -ENOMEM. */
int hpm_ids_prepare(int id_end);

/* The number, or 0 after an error that was reported. */
int hpm_new_id(const struct hpm_engine *engine, const char *caller, const char *file, int line);

/* 1, or 0: no section can have the number now. The first place that a number is given holds. */
int hpm_tell_place(const struct hpm_engine *engine, int id, const char *file, int line);

/* NULL: nobody has said it. */
const struct hpm_place *hpm_place_of(int id);

/* Whether a section can have it: a program's own, or one that hpmNewID gave. */
int hpm_is_number(const struct hpm_engine *engine, int id);

/* --- section_engine.c ------------------------------------------------------------------------- */

/* For gn_bare_ticks(). */
extern int hpm_uses_counter;

uint64_t hpm_epoch_ns(void);

/* On a page that the kernel clears in a forked child, which so begins afresh. */
struct hpm_process {
	struct hpm_engine *_Atomic engine;
	pthread_mutex_t mutex; /* of making it */
};

extern struct hpm_process *_Atomic hpm_process_page;
extern __thread struct hpm_thread *hpm_self __attribute__((tls_model("initial-exec")));

/* Where the thread's next start is, by hpmCalledFrom(). */
extern __thread const char *hpm_told __attribute__((tls_model("initial-exec")));

/* The page, made at the first call; NULL: no memory. */
struct hpm_process *hpm_process_begin(void (*at_exit)(void));

/* The engine of a program, by its name; "" or NULL: as the kernel has it. A failure is reported. */
void hpm_engine_begin(struct hpm_process *here, const char *program);

/* That of this process or, in a child that has none yet, of its parent; NULL before hpmInit. */
const struct hpm_engine *hpm_engine_last(void);

/* Says that a call came before hpmInit or after hpmTerminate. */
void hpm_no_engine(const char *caller, int id);

__attribute__((cold)) struct hpm_thread *hpm_enter_slowly(const char *caller, int id);

/*
 * The calling thread, marked busy, with the running engine of this process; NULL after an error
 * that was reported.
 */
static inline struct hpm_thread *hpm_enter(enum hpm_function function, int id)
{
	struct hpm_process *here = atomic_load_explicit(&hpm_process_page, memory_order_acquire);
	struct hpm_thread *thread = hpm_self;

	if (!thread || thread->is_busy ||
	    thread->engine != atomic_load_explicit(&here->engine, memory_order_relaxed) ||
	    atomic_load_explicit(&thread->engine->state, memory_order_relaxed) != HPM_RUNNING)
		return hpm_enter_slowly(hpm_function_name[function], id);
	thread->is_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

static inline void hpm_leave(struct hpm_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->is_busy = 0;
}

/* --- section_lifecycle.c ---------------------------------------------------------------------- */

void hpm_init(const char *program);
void hpm_init_once(const char *program);
void hpm_terminate(const char *caller);
void hpm_terminate_once(void);

/* --- section_create.c ------------------------------------------------------------------------- */

/* The length of a label that ends with a zero byte. */
#define HPM_TO_ZERO ((size_t)-1)

/* The section of a number, made unless another thread did. NULL after an error, which was said. */
__attribute__((cold)) struct hpm_section *
hpm_section_create(struct hpm_engine *engine, struct hpm_thread *thread, enum hpm_kind kind, int id,
		   const char *label, size_t length, const void *from);

/* Says that no section can have the number; NULL. */
__attribute__((cold)) struct hpm_section *hpm_bad_id(const struct hpm_engine *engine,
						     enum hpm_function function, int id);

/* --- calibrate.c ------------------------------------------------------------------------------ */

/*
 * Finds what a start and a stop count by themselves, at the first section of a kind, whose counters
 * are open: some empty ones, which the calling thread starts and stops as the program would, by
 * hpm_start() and hpm_stop().
 */
typedef void hpm_start_call(enum hpm_function function, int id, int parent, const char *label,
			    size_t length, const void *from);
typedef void hpm_stop_call(enum hpm_function function, int id);

__attribute__((cold)) void hpm_calibrate(struct hpm_engine *engine, struct hpm_thread *thread,
					 enum hpm_kind kind, hpm_start_call *start_it,
					 hpm_stop_call *stop_it);

/* --- starts.c --------------------------------------------------------------------------------- */

/*
 * Keeps with a section which address of which program or library starts it first: `from` is behind
 * that call. Debug information says afterwards which line that is. engine->mutex is held.
 */
void hpm_start_find(struct hpm_engine *engine, struct hpm_raw_slot *slot, const void *from);

/*
 * The program or library that an address is in, and the address as its file has it; NULL: it is in
 * none. engine->mutex is held, and what is returned holds until the next look.
 */
const struct hpm_module *hpm_module_of(struct hpm_engine *engine, uintptr_t address,
				       uint64_t *offset);

/* The sections that have such an address, by their numbers, for free(3); NULL: none, or no memory.
 */
struct hpm_start_address *hpm_starts_of(const struct hpm_raw *raw, int *n);

/* --- section_places.c ------------------------------------------------------------------------- */

/* Places whose values are kept apart, at most: each takes a slot of the raw file. */
#define HPM_PLACES_MAX 4096u

/*
 * The slot of a section for the place that it is started from; its first one if there is no room
 * for another.
 */
struct hpm_raw_slot *hpm_place_slot(struct hpm_engine *engine, struct hpm_thread *thread,
				    const struct hpm_section *section, const void *from);

/* Of a thread whose memory of sections another thread gets. */
void hpm_places_forget(struct hpm_thread *thread);

/* --- sections.c ------------------------------------------------------------------------------- */

/* In a function that the program calls: the address behind that call. */
#define HPM_CALLED_FROM __builtin_extract_return_addr(__builtin_return_address(0))

/* from: HPM_CALLED_FROM. */
void hpm_start(enum hpm_function function, int id, int parent, const char *label, size_t length,
	       const void *from);
void hpm_stop(enum hpm_function function, int id);

/* Stops everything that is active, with one snapshot of each context. */
void hpm_stop_all(struct hpm_engine *engine);

/* Seconds and counts since the thread's counters were opened; n < 0: all events. */
void hpm_get(enum hpm_function function, int n, double *seconds, long long *values);

/* --- resource_usage.c ------------------------------------------------------------------------- */

/* getrusage(2) of this process as numbers in the order of its fields. */
void hpm_rusage(double value[HPM_RAW_RUSAGE]);

/* The same as events, since hpmInit; now: NULL where the process is gone. */
void hpm_rusage_events(const struct hpm_raw_header *header, const double *now,
		       hpm_event_info info[HPM_RAW_RUSAGE]);

/* --- raw_to_items.c --------------------------------------------------------------------------- */

/*
 * What was measured, resource usage first. rusage: now, or NULL where the process is gone.
 * for_run: with exclusive values that were kept for `gnomon run` alone, and with an item for each
 * place that a section was started from, whose number is its xml_element_id (0: none). *items is
 * for hpm_items_free(). 0 or -ENOMEM.
 */
int hpm_items_of(const struct hpm_raw *raw, const double *rusage, int for_run, int *n,
		 hpm_event_vector *items);
void hpm_items_free(int n, hpm_event_vector items);

/* The value of event e for these words; NaN if there is none. */
void hpm_event_value(const struct hpm_raw *raw, uint32_t e, const uint64_t *words,
		     hpm_event_info *info);

/* --- finalize.c ------------------------------------------------------------------------------- */

/* For `gnomon run`, whose folder GNOMON_RUN_DIR names: section_staging.c. */
int hpm_is_run(void);
void hpm_staging_link(const struct hpm_raw_file *file);

/* Leaves the address that hpm_start_find() found. */
void hpm_staging_place(const struct hpm_raw_file *file, const struct hpm_raw_slot *slot);

/* Leaves the stack of a place: what was told of it or, if that is NULL, addresses. */
void hpm_staging_stack(struct hpm_engine *engine, unsigned int place, const char *told,
		       const struct gn_stack *stack);
struct hpm_items hpm_items_of_run(const struct hpm_raw_header *from, double stopped, double wall_s,
				  const char *notes);
void hpm_staging_write(const struct hpm_raw *raw, const double *rusage, double stopped,
		       double wall_s, const char *notes);

/* Items, aggregator, report. seconds: epoch of the end. 0, or -1: not written, which was said. */
int hpm_finalize(const struct hpm_raw *raw, const struct hpm_settings *settings,
		 const double *rusage, double stopped, double wall_s, const char *notes);

/* The program exits: writes it if an aggregator is at fault. 0, or -1: there is nothing written. */
int hpm_finalize_exit(void);

#endif
