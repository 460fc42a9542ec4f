/*
 * What operations that have begun will be completed by: from a request to the place that it was
 * started from, so that its completion is told of that place.
 */
#ifndef GNOMON_MPI_REQUESTS_H
#define GNOMON_MPI_REQUESTS_H

#include "profile.h"

enum gn_mpi_request_flag {
	GN_MPI_RECEIVES = 1u << 0, /* what came is known when it is complete */
	GN_MPI_PERSISTS = 1u
		<< 1, /* it is started again and again, and not over when it is complete */
	GN_MPI_IS_ACTIVE = 1u << 2,
};

struct gn_mpi_request {
	uint32_t hash; /* an entry of a table */
	/* Of one that persists, what each start sends, and to whom. */
	int32_t peer;
	int64_t sent;
	uint64_t handle;
	union gn_totals_record *site; /* that it was made at */
	uint32_t thread;	      /* that made it */
	uint32_t flags;
	/* Of the call that started it; of one that persists, what each start receives, so far as
	 * that is known: what it was made in is no part of its starts. */
	union {
		uint64_t ticks;
		int64_t received;
	};
};

/* MPI calls may come from several threads at once: so it is until MPI says that they do not. */
extern int gn_mpi_requests_are_shared;

/* Level 0 disables recording, 1 and above enable it; others are for other tools. Without it it is
 * not seen what is completed: requests that have begun are forgotten. Source: MPI 4.1, 15.2.4. */
void gn_mpi_control(int level);

/*
 * Takes what is known of requests before a call that may complete them: another thread may get one
 * of their handles for a request of its own before this one has said that it is complete. Those
 * that are not, or persist, have to be put back or are where they were. NULL without memory.
 */
struct gn_mpi_request *gn_mpi_requests_take_ahead(struct gn_mpi_thread *thread,
						  const uint64_t *handle, int n);
void gn_mpi_request_put_back(const struct gn_mpi_request *request);

/* A request that a call has started or made, once that has ended; without memory it is not known.
 */
void gn_mpi_request_keep(const struct gn_mpi_call *call, uint64_t handle, uint32_t flags);

/* 1 with what is known of a request that has been started: the call tells what that sends. */
int gn_mpi_request_start(const struct gn_mpi_call *call, uint64_t handle);

/*
 * A request is complete, and forgotten unless it persists. 1 with what is known of it. With
 * `only_persistent`, others were taken ahead, and one that has this handle now is another thread's.
 */
int gn_mpi_request_take(uint64_t handle, struct gn_mpi_request *request, int only_persistent);

void gn_mpi_request_forget(uint64_t handle);

/* What a call that completed a request tells of the place that it was started from. */
void gn_mpi_complete(const struct gn_mpi_call *call, const struct gn_mpi_request *request,
		     uint64_t ticks, int64_t received);

/* What a call that started one again tells likewise. */
void gn_mpi_restart(const struct gn_mpi_call *call, const struct gn_mpi_request *request);

#endif
