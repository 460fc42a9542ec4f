#include "profile.h"

#include <pthread.h>
#include <stdlib.h>

#include "lifecycle.h"
#include "requests.h"
#include "site_threads.h"

/* What was sent from a site to a rank; with GN_MPI_NO_PEER, how long calls from it waited. */
struct peer {
	uint32_t hash;
	int32_t rank;
	const union gn_totals_record *site;
	union gn_totals_record *record;
};

__thread struct gn_mpi_thread *gn_mpi_here;
int gn_mpi_uses_counter;
int gn_mpi_is_off;

/* Of threads that record nothing: a call is always within another one. */
static struct gn_mpi_thread nobody = {.frame = UINTPTR_MAX};
static struct gn_totals_plan plan = {.capability = "mpi"};
static int stands_alone;
static uint32_t n_routines; /* 0: nothing is recorded */
/* Of one process: zero in a child that was forked. */
static struct process {
	int is_recorded;
} *process;

/* The child of a fork may not call MPI, and what it did would be written to its parent's file. */
static void leave_child(void)
{
	n_routines = 0;
	gn_mpi_here = &nobody;
}

static void close_at_exit(void)
{
	if (process && process->is_recorded)
		gn_totals_close();
}

static void give_back(void *thread)
{
	gn_mpi_here = &nobody;
	/* Another thread may have it at once. */
	gn_site_thread_give_back(&((struct gn_mpi_thread *)thread)->calls);
}

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct process),
	.at_exit = close_at_exit,
	.at_thread_end = give_back,
};

void gn_mpi_profile_begin(const char *const *names, uint32_t n)
{
	plan.names = names;
	plan.n_routines = n;
}

void gn_mpi_profile_stands_alone(void)
{
	stands_alone = 1;
}

static void open_file(void)
{
	/* Of libmpitrace, which tells times while the program runs. */
	gn_clock_init();
	if (gn_totals_open(&plan) && (!stands_alone || gn_totals_open_in_memory(&plan)))
		return;
	process = gn_lifecycle_begin(&life);
	if (!process || gn_lifecycle_at_fork(leave_child))
		return;
	process->is_recorded = 1;
	gn_mpi_uses_counter = gn_clock_has_counter();
	gn_python_caller_begin();
	n_routines = plan.n_routines;
}

/* --- threads ---------------------------------------------------------------------------------- */

static struct gn_mpi_thread *take_thread(void)
{
	const size_t sizes = (size_t)n_routines * GN_MPI_CLASSES * sizeof(union gn_totals_record *);
	struct gn_mpi_thread *thread =
		(struct gn_mpi_thread *)gn_site_thread_take(sizeof(*thread) + sizes);

	if (thread)
		thread->size = (union gn_totals_record **)(thread + 1);
	return thread;
}

struct gn_mpi_thread *gn_mpi_thread_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct gn_mpi_thread *thread;

	pthread_once(&once, open_file);
	thread = n_routines ? take_thread() : NULL;
	if (!thread) {
		gn_mpi_here = &nobody;
		return gn_mpi_here;
	}
	thread->frame = 0;
	gn_mpi_here = thread;
	gn_lifecycle_watch_thread(&life, thread);
	return thread;
}

uint64_t *gn_mpi_thread_handles(struct gn_mpi_thread *thread, int n)
{
	if (n > thread->handles_room) {
		free(thread->handle);
		thread->handle = malloc((size_t)n * sizeof(*thread->handle));
		thread->handles_room = thread->handle ? n : 0;
	}
	return thread->handle;
}

/* --- sums ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) union gn_totals_record *make_size(struct gn_mpi_thread *thread,
								   uint32_t routine, uint32_t class)
{
	const struct gn_size_record record = {
		.routine = (uint16_t)routine,
		.thread = thread->calls.number,
		.class = class,
	};

	return gn_totals_add(&thread->calls.chunk, GN_TOTALS_SIZE, &record, sizeof(record));
}

static inline void add_size(struct gn_mpi_thread *thread, uint32_t routine, int64_t bytes,
			    uint64_t ticks)
{
	const uint32_t class = gn_size_class((uint64_t)bytes);
	union gn_totals_record **size = &thread->size[routine * GN_MPI_CLASSES + class];

	if (__builtin_expect(!*size, 0))
		*size = make_size(thread, routine, class);
	if (!*size)
		return;
	(*size)->size.calls++;
	(*size)->size.bytes += (uint64_t)bytes;
	(*size)->size.ticks += ticks;
}

static union gn_totals_record *make_peer(struct gn_mpi_thread *thread,
					 const union gn_totals_record *site, int32_t rank)
{
	const struct gn_messages_record messages = {
		.thread = thread->calls.number,
		.site = gn_totals_place(site),
		.peer = rank,
	};
	const struct gn_waiting_record waiting = {
		.thread = thread->calls.number,
		.site = gn_totals_place(site),
	};

	if (rank == GN_MPI_NO_PEER)
		return gn_totals_add(&thread->calls.chunk, GN_TOTALS_WAITING, &waiting,
				     sizeof(waiting));
	return gn_totals_add(&thread->calls.chunk, GN_TOTALS_MESSAGES, &messages, sizeof(messages));
}

/* NULL without memory. */
static __attribute__((noinline)) union gn_totals_record *
peer_record(struct gn_mpi_thread *thread, const union gn_totals_record *site, int32_t rank)
{
	const uint32_t hash = gn_hash_of((uintptr_t)site / GN_TOTALS_RECORD_BYTES, (uint32_t)rank);
	struct peer *peer;

	if (gn_hash_table_make_room(&thread->peers, sizeof(*peer)))
		return NULL;
	for (uint32_t i = hash;; i++) {
		peer = (struct peer *)thread->peers.entry + (i & thread->peers.mask);
		if (!peer->hash)
			break;
		if (peer->site == site && peer->rank == rank)
			return peer->record;
	}
	peer->record = make_peer(thread, site, rank);
	if (!peer->record)
		return NULL;
	peer->hash = hash;
	peer->site = site;
	peer->rank = rank;
	thread->peers.n++;
	return peer->record;
}

void gn_mpi_peers_free(struct gn_mpi_thread *thread)
{
	gn_hash_table_free(&thread->peers, sizeof(struct peer));
}

static inline void add_message(union gn_totals_record *record, int64_t bytes)
{
	if (!record)
		return;
	record->messages.messages++;
	record->messages.bytes += (uint64_t)bytes;
	if ((uint64_t)bytes > record->messages.most_bytes)
		record->messages.most_bytes = (uint64_t)bytes;
}

void gn_mpi_end(struct gn_mpi_call *call)
{
	struct gn_mpi_thread *thread = call->thread;
	const uint64_t ticks = call->end - call->begin;
	const struct gn_call_origin origin = gn_mpi_origin(call);
	struct gn_call_place *place = gn_place_of(&thread->calls, &origin);
	struct gn_site_record *site;

	call->site = place ? place->site : NULL;
	if (place) {
		site = &place->site->site;
		site->calls++;
		site->sent += (uint64_t)call->sent;
		site->received += (uint64_t)call->received;
		site->ticks += ticks;
		if (ticks > site->most_ticks)
			site->most_ticks = ticks;
		if (!call->is_pending)
			add_size(thread, call->routine, call->sent ? call->sent : call->received,
				 ticks);
		if (call->peer != GN_MPI_NO_PEER) {
			/* Most places send to one rank. */
			if (__builtin_expect(place->detail_of != call->peer, 0)) {
				place->detail = peer_record(thread, place->site, call->peer);
				place->detail_of = call->peer;
			}
			add_message(place->detail, call->sent);
		}
	}
	thread->calls.record->thread.last_ticks = call->end;
	thread->frame = 0;
}

void gn_mpi_waited(const struct gn_mpi_call *call, uint64_t ticks)
{
	union gn_totals_record *record;

	if (!ticks || !call->site)
		return;
	record = peer_record(call->thread, call->site, GN_MPI_NO_PEER);
	if (!record)
		return;
	record->waiting.calls++;
	record->waiting.ticks += ticks;
}

/* What another thread made is added up in a record of this one. */
static union gn_totals_record *own_site(const struct gn_mpi_call *call,
					const struct gn_mpi_request *request)
{
	const struct gn_site_record *site = &request->site->site;

	if (request->thread == call->thread->calls.number)
		return request->site;
	return gn_site_record(&call->thread->calls, site->routine, site->object, site->frame);
}

void gn_mpi_complete(const struct gn_mpi_call *call, const struct gn_mpi_request *request,
		     uint64_t ticks, int64_t received)
{
	union gn_totals_record *site = own_site(call, request);

	if (!site)
		return;
	site->site.completion_ticks += ticks;
	site->site.received += (uint64_t)received;
	if (request->flags & GN_MPI_RECEIVES)
		add_size(call->thread, site->site.routine, request->sent ? request->sent : received,
			 request->flags & GN_MPI_PERSISTS ? 0 : request->ticks);
}

void gn_mpi_restart(const struct gn_mpi_call *call, const struct gn_mpi_request *request)
{
	union gn_totals_record *site = own_site(call, request);

	if (!site || request->flags & GN_MPI_RECEIVES)
		return;
	site->site.sent += (uint64_t)request->sent;
	site->site.received += (uint64_t)request->received;
	add_size(call->thread, site->site.routine,
		 request->sent ? request->sent : request->received, 0);
	if (request->peer != GN_MPI_NO_PEER)
		add_message(peer_record(call->thread, site, request->peer), request->sent);
}
