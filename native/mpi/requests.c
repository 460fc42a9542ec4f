#include "requests.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "places.h"

#define PARTS 64u

struct part {
	_Alignas(64) atomic_flag lock;
	struct gn_hash_table table; /* struct gn_mpi_request */
};

static struct part parts[PARTS];
int gn_mpi_requests_are_shared = 1;

static uint32_t hash_of(uint64_t handle)
{
	return gn_hash_of(handle, 0);
}

static struct part *part_of(uint32_t hash)
{
	struct part *part = &parts[hash >> 25 & (PARTS - 1)];

	while (gn_mpi_requests_are_shared &&
	       atomic_flag_test_and_set_explicit(&part->lock, memory_order_acquire))
		;
	return part;
}

static void leave(struct part *part)
{
	if (gn_mpi_requests_are_shared)
		atomic_flag_clear_explicit(&part->lock, memory_order_release);
}

/* That of a handle, or the free one where it would be. */
GN_MPI_INLINE struct gn_mpi_request *find(const struct gn_hash_table *table, uint64_t handle,
					  uint32_t hash)
{
	struct gn_mpi_request *request;

	do
		request = (struct gn_mpi_request *)table->entry + (hash++ & table->mask);
	while (request->hash && request->handle != handle);
	return request;
}

/* Enters the part that a handle is in, which is to be left. NULL: nothing is known of it. */
GN_MPI_INLINE struct gn_mpi_request *look_up(uint64_t handle, struct part **part)
{
	const uint32_t hash = hash_of(handle);
	struct gn_mpi_request *request;

	*part = part_of(hash);
	if (!(*part)->table.n)
		return NULL;
	request = find(&(*part)->table, handle, hash);
	return request->hash ? request : NULL;
}

static void take_out(struct part *part, struct gn_mpi_request *request)
{
	const uint32_t i = (uint32_t)(request - (struct gn_mpi_request *)part->table.entry);
	const uint32_t *next = gn_hash_table_entry(&part->table, sizeof(*request), i + 1);

	if (__builtin_expect(*next, 0)) {
		gn_hash_table_take_out(&part->table, sizeof(*request), request);
		return;
	}
	request->hash = 0;
	part->table.n--;
}

/* Where what is known of a request is to be; NULL without memory. */
GN_MPI_INLINE struct gn_mpi_request *slot_of(struct part *part, uint64_t handle, uint32_t hash)
{
	struct gn_mpi_request *request;

	if (gn_hash_table_make_room(&part->table, sizeof(*request)))
		return NULL;
	request = find(&part->table, handle, hash);
	part->table.n += !request->hash;
	return request;
}

void gn_mpi_request_put_back(const struct gn_mpi_request *request)
{
	struct part *part = part_of(request->hash);
	struct gn_mpi_request *there = slot_of(part, request->handle, request->hash);

	if (there)
		*there = *request;
	leave(part);
}

void gn_mpi_request_keep(const struct gn_mpi_call *call, uint64_t handle, uint32_t flags)
{
	const uint32_t hash = hash_of(handle);
	struct part *part = part_of(hash);
	struct gn_mpi_request *request = slot_of(part, handle, hash);

	if (request)
		*request = (struct gn_mpi_request){
			.hash = hash,
			.peer = call->peer,
			.sent = call->sent,
			.handle = handle,
			.site = call->site,
			.thread = call->thread->calls.number,
			.flags = flags,
			.ticks = flags & GN_MPI_PERSISTS ? (uint64_t)call->received
							 : call->end - call->begin,
		};
	leave(part);
}

int gn_mpi_request_start(const struct gn_mpi_call *call, uint64_t handle)
{
	struct part *part;
	struct gn_mpi_request *request = look_up(handle, &part);
	struct gn_mpi_request started;

	if (request) {
		request->flags |= GN_MPI_IS_ACTIVE;
		started = *request;
	}
	leave(part);
	if (request)
		gn_mpi_restart(call, &started);
	return request != NULL;
}

int gn_mpi_request_take(uint64_t handle, struct gn_mpi_request *taken, int only_persistent)
{
	struct part *part;
	struct gn_mpi_request *request = look_up(handle, &part);
	int is_there = request && (!only_persistent || request->flags & GN_MPI_PERSISTS);

	if (is_there) {
		*taken = *request;
		/* One that was not started is complete, too. */
		if (taken->flags & GN_MPI_PERSISTS) {
			is_there = !!(taken->flags & GN_MPI_IS_ACTIVE);
			request->flags &= ~(uint32_t)GN_MPI_IS_ACTIVE;
		} else {
			take_out(part, request);
		}
	}
	leave(part);
	return is_there;
}

/* Taking one out may put another one in its place: until nothing is left that has begun. */
static void forget_begun(struct part *part)
{
	for (uint32_t i = 0; part->table.entry && i <= part->table.mask;) {
		struct gn_mpi_request *request =
			gn_hash_table_entry(&part->table, sizeof(*request), i);

		request->flags &= ~(uint32_t)GN_MPI_IS_ACTIVE;
		if (request->hash && !(request->flags & GN_MPI_PERSISTS))
			take_out(part, request);
		else
			i++;
	}
}

static void forget_all_begun(void)
{
	for (uint32_t i = 0; i < PARTS; i++) {
		/* The part of hashes that have its number. */
		struct part *part = part_of(i << 25);

		forget_begun(part);
		leave(part);
	}
}

void gn_mpi_control(int level)
{
	if (level < 0)
		return;
	__atomic_store_n(&gn_mpi_is_off, level == 0, __ATOMIC_RELAXED);
	if (!level)
		forget_all_begun();
}

void gn_mpi_request_forget(uint64_t handle)
{
	struct part *part;
	struct gn_mpi_request *request = look_up(handle, &part);

	if (request)
		take_out(part, request);
	leave(part);
}

struct gn_mpi_request *gn_mpi_requests_take_ahead(struct gn_mpi_thread *thread,
						  const uint64_t *handle, int n)
{
	if (n > thread->taken_room) {
		free(thread->taken);
		thread->taken = malloc((size_t)n * sizeof(*thread->taken));
		thread->taken_room = thread->taken ? n : 0;
	}
	for (int i = 0; thread->taken && i < n; i++) {
		struct part *part;
		struct gn_mpi_request *request = look_up(handle[i], &part);

		thread->taken[i].site = NULL;
		if (request && !(request->flags & GN_MPI_PERSISTS)) {
			thread->taken[i] = *request;
			take_out(part, request);
		}
		leave(part);
	}
	return thread->taken;
}
