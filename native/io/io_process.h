/*
 * A process whose calls on files are recorded: its file of totals, its threads, and whether a call
 * is one of ours.
 *
 * Calls may come before the program's constructors, within malloc(3), from a signal's handler that
 * interrupts another call's account, in a child of fork(2), which gets a file of its own at its
 * first call, and of vfork(2), which is part of its parent.
 */
#ifndef GNOMON_IO_PROCESS_H
#define GNOMON_IO_PROCESS_H

#include <stdint.h>

#include "bare_ticks.h"
#include "places.h"
#include "record_spool.h"
#include "signal_shield.h"
#include "site_threads.h"

#define GN_IO_INLINE static inline __attribute__((always_inline))

/* Reads or writes of a file by a thread: what its next request is added to. */
struct gn_io_access {
	uint32_t hash;
	uint32_t file;
	uint16_t writes;
	uint16_t routine; /* of the last request */
	uint32_t class;	  /* of its size */
	union gn_totals_record *access, *size;
};

struct gn_io_thread {
	struct gn_site_thread calls; /* first: site_threads.h */
	volatile int is_busy;	     /* with an account, which a signal may interrupt */
	struct gn_io_thread *nested; /* what calls of a signal's handler are added to meanwhile */
	struct gn_hash_table accesses, sizes;
	struct gn_spool_writer events;
};

/* Of one process: zeros in a child that was forked. */
struct gn_io_process {
	_Atomic int state; /* enum gn_io_state */
};

enum gn_io_state { GN_IO_NEW, GN_IO_OPENING, GN_IO_OPEN, GN_IO_OFF };

extern __thread struct gn_io_thread *gn_io_here __attribute__((tls_model("initial-exec")));
extern struct gn_io_process *gn_io_process;
extern int gn_io_uses_counter;

/* The calls by their numbers, which the library has that this is a part of. */
extern const char *const gn_io_call_names[];
extern const uint32_t gn_io_n_calls;

/* Where a call is to be added to; NULL: it is ours, or nothing is recorded. */
struct gn_io_thread *gn_io_thread_begin(void);

GN_IO_INLINE struct gn_io_thread *gn_io_thread(void)
{
	struct gn_io_thread *thread = gn_io_here;

	if (__builtin_expect(thread && !thread->is_busy && gn_io_process->state == GN_IO_OPEN, 1))
		return thread;
	return gn_io_thread_begin();
}

/* The kernel's counts are taken, and nothing is recorded from now on. */
void gn_io_process_end(void);

/* Work of ours: calls in it are not the program's, and no signal comes between. */
struct gn_io_work {
	struct gn_signal_shield shield;
	struct gn_io_thread *thread;
};

/* Within such work, of this thread. */
extern __thread int gn_io_is_at_work __attribute__((tls_model("initial-exec")));

/* The same without a look at signals: what handlers call meanwhile is not recorded. */
extern __thread int gn_io_is_own __attribute__((tls_model("initial-exec")));

static inline void gn_io_own_begin(void)
{
	gn_io_is_own++;
}

static inline void gn_io_own_end(void)
{
	gn_io_is_own--;
}

void gn_io_work_begin(struct gn_io_work *work);
void gn_io_work_end(struct gn_io_work *work);

#endif
