#include "requests.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"

#define PARTS 64u
#define PART_FIRST 64u
#define ABSENT UINT64_MAX

/* A hash table with open addressing, and a lock. */
struct part {
	_Alignas(64) atomic_flag lock;
	struct gn_mpi_request *request;
	uint32_t mask, n;
};

static struct part parts[PARTS];
static int is_shared;

void gn_mpi_requests_share(void)
{
	is_shared = 1;
}

int gn_mpi_requests_are_shared(void)
{
	return is_shared;
}

static uint32_t hash_of(uint64_t handle)
{
	return (uint32_t)((handle * 0x9e3779b97f4a7c15u) >> 32);
}

static struct part *part_of(uint32_t hash)
{
	struct part *part = &parts[hash >> 26];

	while (is_shared && atomic_flag_test_and_set_explicit(&part->lock, memory_order_acquire))
		;
	return part;
}

static void leave(struct part *part)
{
	if (is_shared)
		atomic_flag_clear_explicit(&part->lock, memory_order_release);
}

/* That of a handle, or the free one where it would be. */
static struct gn_mpi_request *find(const struct part *part, uint64_t handle, uint32_t hash)
{
	struct gn_mpi_request *request = &part->request[hash & part->mask];

	while (request->handle != handle && request->handle != ABSENT) {
		hash++;
		request = &part->request[hash & part->mask];
	}
	return request;
}

static int grow(struct part *part)
{
	const struct part before = {.request = part->request, .mask = part->mask};
	const uint32_t n = before.request ? 2 * (before.mask + 1) : PART_FIRST;

	part->request = malloc(n * sizeof(*part->request));
	if (!part->request) {
		part->request = before.request;
		return -1;
	}
	part->mask = n - 1;
	for (uint32_t i = 0; i < n; i++)
		part->request[i].handle = ABSENT;
	for (uint32_t i = 0; before.request && i <= before.mask; i++) {
		const struct gn_mpi_request *request = &before.request[i];

		if (request->handle != ABSENT)
			*find(part, request->handle, hash_of(request->handle)) = *request;
	}
	free(before.request);
	return 0;
}

/* Enters the part that a handle is in, which is to be left. NULL: nothing is known of it. */
static struct gn_mpi_request *look_up(uint64_t handle, struct part **part)
{
	const uint32_t hash = hash_of(handle);
	struct gn_mpi_request *request;

	*part = part_of(hash);
	request = (*part)->request ? find(*part, handle, hash) : NULL;
	return request && request->handle == handle ? request : NULL;
}

void gn_mpi_request_put_back(const struct gn_mpi_request *request)
{
	const uint32_t hash = hash_of(request->handle);
	struct part *part = part_of(hash);
	struct gn_mpi_request *there;

	if ((part->request && 2 * part->n <= part->mask) || !grow(part)) {
		there = find(part, request->handle, hash);
		part->n += there->handle == ABSENT;
		*there = *request;
	}
	leave(part);
}

void gn_mpi_request_keep(const struct gn_mpi_call *call, uint64_t handle, uint32_t flags)
{
	const struct gn_mpi_request request = {
		.handle = handle,
		.site = call->site,
		.thread = call->thread->number,
		.flags = flags,
		.ticks = call->end - call->begin,
		.sent = call->sent,
		.peer = call->peer,
	};

	gn_mpi_request_put_back(&request);
}

/* Those that come behind it may have been pushed there by it. */
static void take_out(struct part *part, struct gn_mpi_request *request)
{
	uint32_t gap = (uint32_t)(request - part->request);

	for (uint32_t i = (gap + 1) & part->mask; part->request[i].handle != ABSENT;
	     i = (i + 1) & part->mask) {
		const uint32_t wanted = hash_of(part->request[i].handle) & part->mask;

		if (((i - wanted) & part->mask) >= ((i - gap) & part->mask)) {
			part->request[gap] = part->request[i];
			gap = i;
		}
	}
	part->request[gap].handle = ABSENT;
	part->n--;
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

int gn_mpi_request_take(uint64_t handle, struct gn_mpi_request *taken)
{
	struct part *part;
	struct gn_mpi_request *request = look_up(handle, &part);
	int is_there = request != NULL;

	if (request) {
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
