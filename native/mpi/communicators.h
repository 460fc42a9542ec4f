/*
 * Communicators by numbers, and ranks in them by those in MPI_COMM_WORLD. A part of wrapper.h: it
 * is compiled with the MPI's own header.
 */
#ifndef GNOMON_MPI_COMMUNICATORS_H
#define GNOMON_MPI_COMMUNICATORS_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

struct gn_mpi_communicator {
	uint32_t number;
	int n;		/* of the ranks that it sends to */
	int *world;	/* by rank; NULL: they are the same */
	int has_others; /* that take part in its collectives, and are all of one group */
};

/* Of the process. An attribute of each communicator leads to what is known of it. */
static struct {
	pthread_mutex_t lock;
	int keyval;
	uint32_t n;
	_Atomic uint32_t epoch; /* grows when one is freed, whose handle may come again */
	int is_up;
} gn_mpi_all = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

static int gn_mpi_forget(MPI_Comm comm, int keyval, void *value, void *state)
{
	struct gn_mpi_communicator *known = value;

	(void)comm, (void)keyval, (void)state;
	atomic_fetch_add(&gn_mpi_all.epoch, 1);
	free(known->world);
	free(known);
	return MPI_SUCCESS;
}

/* Where its ranks are in MPI_COMM_WORLD; NULL where they are the same, or without memory. */
static int *gn_mpi_world_ranks(MPI_Comm comm, int is_inter, int *n)
{
	MPI_Group own, world;
	int *ranks, *in_world, relation;

	*n = 0;
	if (is_inter ? PMPI_Comm_remote_group(comm, &own) : PMPI_Comm_group(comm, &own))
		return NULL;
	PMPI_Group_size(own, n);
	if (PMPI_Comm_group(MPI_COMM_WORLD, &world)) {
		PMPI_Group_free(&own);
		return NULL;
	}
	PMPI_Group_compare(own, world, &relation);
	ranks = relation == MPI_IDENT ? NULL : malloc(2 * (size_t)*n * sizeof(*ranks));
	if (ranks) {
		in_world = ranks + *n;
		for (int i = 0; i < *n; i++)
			ranks[i] = i;
		PMPI_Group_translate_ranks(own, *n, ranks, world, in_world);
		for (int i = 0; i < *n; i++)
			ranks[i] = in_world[i] == MPI_UNDEFINED ? -1 : in_world[i];
	}
	PMPI_Group_free(&own);
	PMPI_Group_free(&world);
	return ranks;
}

static void gn_mpi_write_communicator(struct gn_totals_chunk *chunk, MPI_Comm comm,
				      const struct gn_mpi_communicator *known, int is_inter)
{
	struct gn_communicator_record record = {
		.flags = (uint16_t)is_inter,
		.communicator = known->number,
		.first = known->world ? known->world[0] : 0,
	};
	char name[MPI_MAX_OBJECT_NAME + 1] = "";
	int length = 0;

	PMPI_Comm_rank(comm, &record.rank);
	PMPI_Comm_size(comm, &record.size);
	if (is_inter)
		PMPI_Comm_remote_size(comm, &record.remote_size);
	gn_totals_add(chunk, GN_TOTALS_COMMUNICATOR, &record, sizeof(record));
	if (!PMPI_Comm_get_name(comm, name, &length) && length > 0) {
		name[length] = 0;
		gn_totals_add_text(chunk, GN_TOTALS_COMMUNICATOR, known->number, name);
	}
}

static const struct gn_mpi_communicator *gn_mpi_meet(struct gn_mpi_thread *thread, MPI_Comm comm)
{
	struct gn_mpi_communicator *known = NULL;
	int is_there = 0, is_inter = 0;

	if (PMPI_Comm_get_attr(comm, gn_mpi_all.keyval, &known, &is_there))
		return NULL;
	if (is_there)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	PMPI_Comm_test_inter(comm, &is_inter);
	known->world = gn_mpi_world_ranks(comm, is_inter, &known->n);
	known->has_others = !is_inter && known->n > 1;
	known->number = gn_mpi_all.n;
	if (PMPI_Comm_set_attr(comm, gn_mpi_all.keyval, known)) {
		free(known->world);
		free(known);
		return NULL;
	}
	gn_mpi_all.n++;
	gn_mpi_write_communicator(&thread->calls.chunk, comm, known, is_inter);
	return known;
}

static __attribute__((noinline)) const struct gn_mpi_communicator *
gn_mpi_look_up(struct gn_mpi_thread *thread, MPI_Comm comm, uint64_t handle, uint64_t epoch)
{
	struct gn_mpi_cached *cached = &thread->cached[GN_MPI_CACHED_AT(handle)];

	if (!gn_mpi_all.is_up || comm == MPI_COMM_NULL)
		return NULL;
	pthread_mutex_lock(&gn_mpi_all.lock);
	*cached = (struct gn_mpi_cached){handle, epoch, gn_mpi_meet(thread, comm)};
	pthread_mutex_unlock(&gn_mpi_all.lock);
	return cached->known;
}

/* What is known of a communicator; NULL: MPI is not up, or there is none. */
GN_MPI_INLINE const struct gn_mpi_communicator *gn_mpi_known(struct gn_mpi_thread *thread,
							     MPI_Comm comm)
{
	const uint64_t epoch = 1ull + atomic_load_explicit(&gn_mpi_all.epoch, memory_order_relaxed);
	const struct gn_mpi_cached *cached;
	uint64_t handle = 0;

	memcpy(&handle, &comm, sizeof(comm));
	cached = &thread->cached[GN_MPI_CACHED_AT(handle)];
	if (__builtin_expect(cached->handle == handle && cached->epoch == epoch, 1))
		return cached->known;
	return gn_mpi_look_up(thread, comm, handle, epoch);
}

/* Once MPI is up. */
static inline void gn_mpi_meet_world(struct gn_mpi_thread *thread)
{
	/* Not copied to duplicates, which have numbers of their own. */
	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gn_mpi_forget, &gn_mpi_all.keyval, NULL))
		return;
	gn_mpi_all.is_up = 1;
	gn_mpi_known(thread, MPI_COMM_WORLD);
}

/* The rank in MPI_COMM_WORLD of one that is sent to. */
GN_MPI_INLINE int32_t gn_mpi_world_rank(const struct gn_mpi_communicator *known, int rank)
{
	if (!known || rank < 0 || rank >= known->n)
		return GN_MPI_NO_PEER;
	return known->world ? known->world[rank] : rank;
}

#endif
