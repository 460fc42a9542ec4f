/*
 * The profile of a process's calls of MPI, kept while it runs: calls, bytes and time of each
 * routine, place and communicator. It knows no MPI: wrappers, which are compiled with the MPI's own
 * header (wrapper.h), tell what each call was about.
 *
 * A thread that is in a call has `frame`; what MPI itself calls of MPI meanwhile, and what a layer
 * for Fortran calls of C, is a part of that call and not counted again.
 */
#ifndef GNOMON_MPI_PROFILE_H
#define GNOMON_MPI_PROFILE_H

#include <stdint.h>

#include "bare_ticks.h"
#include "places.h"

#define GN_MPI_CLASSES 65u

/* Communicators that a thread has called with lately: what is known of these by their handles. */
#define GN_MPI_CACHED 16u
/* Handles are small numbers, or addresses of things of some hundred bytes. */
#define GN_MPI_CACHED_AT(handle) (((handle) ^ (handle) >> 4 ^ (handle) >> 10) % GN_MPI_CACHED)

/* Of what is on the way of every call, which compilers find too long. */
#define GN_MPI_INLINE static inline __attribute__((always_inline))

struct gn_mpi_request;

struct gn_mpi_cached {
	uint64_t handle;
	uint64_t epoch; /* 0: none yet */
	const void *known;
};

struct gn_mpi_thread {
	struct gn_site_thread calls; /* first: site_threads.h */
	uintptr_t frame; /* of the call that it is in; 0: none; UINTPTR_MAX: nothing is recorded */
	struct gn_hash_table peers;    /* what was sent from a site to a rank */
	union gn_totals_record **size; /* by routine and class; NULL: not yet */
	struct gn_mpi_cached cached[GN_MPI_CACHED];
	uint64_t *handle; /* of requests that its call may complete */
	int handles_room;
	struct gn_mpi_request *taken; /* of these, before it is known which are complete */
	int taken_room;
};

/* A call, from its begin on. */
struct gn_mpi_call {
	struct gn_mpi_thread *thread;
	uint64_t begin, end;
	uintptr_t return_address, frame;
	int64_t sent, received; /* bytes */
	uint32_t routine;
	uint32_t communicator; /* its number; GN_TOTALS_NONE */
	uint32_t python;       /* which Python functions it comes from; 0 where there are none */
	int32_t peer;	       /* in MPI_COMM_WORLD, that `sent` was sent to; GN_MPI_NO_PEER */
	uint64_t handle;       /* of the one request that it completes */
	int is_pending;	       /* what it receives is known later (requests.h) */
	union gn_totals_record *site; /* once it has ended; NULL: there was no memory */
};

#define GN_MPI_NO_PEER GN_NO_DETAIL

extern __thread struct gn_mpi_thread *gn_mpi_here __attribute__((tls_model("initial-exec")));
extern int gn_mpi_uses_counter;

/* Once in a process, before any call: its file is made with the first one. */
void gn_mpi_profile_begin(const char *const *names, uint32_t n_routines);

/* The sums are kept in memory where no run asks for them: the program does (trace/). */
void gn_mpi_profile_stands_alone(void);

/* Of this thread, which has none yet; one that records nothing where that cannot be. */
struct gn_mpi_thread *gn_mpi_thread_begin(void);

/* The program said by MPI_Pcontrol(0) that its calls are not to be recorded (requests.h). */
extern int gn_mpi_is_off;

/* Of the call that this thread is in; 0: it is in none. */
static inline uintptr_t gn_mpi_outer_frame(void)
{
	return gn_mpi_here ? gn_mpi_here->frame : 0;
}

/* 0: the call is a part of another one, or nothing is recorded. */
static inline int gn_mpi_begin(struct gn_mpi_call *call, uint32_t routine, void *return_address,
			       void *frame)
{
	struct gn_mpi_thread *thread = gn_mpi_here;

	if (__builtin_expect(!thread, 0))
		thread = gn_mpi_thread_begin();
	/* One that was left by longjmp() or an exception is over, once a call is not further in. */
	if (__builtin_expect((uintptr_t)frame < thread->frame || gn_mpi_is_off, 0))
		return 0;
	thread->frame = (uintptr_t)frame;
	call->thread = thread;
	call->routine = routine;
	call->return_address = (uintptr_t)return_address;
	call->frame = (uintptr_t)frame;
	call->sent = call->received = 0;
	call->is_pending = 0;
	call->communicator = GN_TOTALS_NONE;
	call->peer = GN_MPI_NO_PEER;
	call->python = 0;
	if (__builtin_expect(gn_has_python_callers, 0))
		call->python = gn_python_caller_hash();
	call->begin = gn_bare_ticks(gn_mpi_uses_counter);
	return 1;
}

static inline void gn_mpi_stop(struct gn_mpi_call *call)
{
	call->end = gn_bare_ticks(gn_mpi_uses_counter);
}

static inline struct gn_call_origin gn_mpi_origin(const struct gn_mpi_call *call)
{
	return (struct gn_call_origin){
		.return_address = call->return_address,
		.frame = call->frame,
		.routine = call->routine,
		.object = call->communicator,
		.python = call->python,
	};
}

/* What was sent to whom is forgotten. */
void gn_mpi_peers_free(struct gn_mpi_thread *thread);

/* Room for so many handles; NULL without memory, as is `handle` then. */
uint64_t *gn_mpi_thread_handles(struct gn_mpi_thread *thread, int n);

/* What the call has told is added up; then it is over. */
void gn_mpi_end(struct gn_mpi_call *call);

/* Of a call that has ended, how long it waited for the last rank; 0: it did not. */
void gn_mpi_waited(const struct gn_mpi_call *call, uint64_t ticks);

#endif
