#include "profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lifecycle.h"
#include "places.h"
#include "requests.h"

#define PEERS_FIRST 64u

/* What is sent from a site to a rank. */
struct gn_mpi_peer {
	const union gn_mpi_record *site;
	int32_t rank;
	union gn_mpi_record *record; /* NULL: this slot is free */
};

__thread struct gn_mpi_thread *gn_mpi_here;
int gn_mpi_uses_counter;

/* Of threads that record nothing: a call is always within another one. */
static struct gn_mpi_thread nobody = {.frame = UINTPTR_MAX};
static struct {
	const char *const *names;
	uint32_t n;
} plan;
static uint32_t n_routines; /* 0: nothing is recorded */
/* Of one process: zero in a child that was forked. */
static struct process {
	int is_recorded;
} *process;

static struct {
	pthread_mutex_t lock;
	struct gn_mpi_thread *all, *idle; /* those of threads that have ended */
	uint32_t n;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The child of a fork may not call MPI, and what it did would be written to its parent's file. */
static void leave_child(void)
{
	n_routines = 0;
	gn_mpi_here = &nobody;
}

static void close_at_exit(void)
{
	if (process && process->is_recorded)
		gn_mpi_totals_close();
}

/* The next thread that begins goes on with its sums: threads may come and go without end. */
static void give_back(void *thread)
{
	pthread_mutex_lock(&threads.lock);
	((struct gn_mpi_thread *)thread)->next_idle = threads.idle;
	threads.idle = thread;
	pthread_mutex_unlock(&threads.lock);
	gn_mpi_here = &nobody;
}

static struct gn_lifecycle life = {
	.state_bytes = sizeof(struct process),
	.at_exit = close_at_exit,
	.at_thread_end = give_back,
};

void gn_mpi_profile_begin(const char *const *names, uint32_t n)
{
	plan.names = names;
	plan.n = n;
}

static void open_file(void)
{
	if (gn_mpi_totals_open(plan.names, plan.n))
		return;
	process = gn_lifecycle_begin(&life);
	if (!process || gn_lifecycle_at_fork(leave_child))
		return;
	process->is_recorded = 1;
	gn_mpi_uses_counter = gn_clock_has_counter();
	n_routines = plan.n;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void write_thread(struct gn_mpi_thread *thread)
{
	struct gn_mpi_thread_record record = {.thread = thread->number, .tid = (int32_t)gettid()};

	prctl(PR_GET_NAME, record.name);
	gn_mpi_totals_add(&thread->chunk, GN_MPI_THREAD, &record, sizeof(record));
}

static struct gn_mpi_thread *make_thread(void)
{
	struct gn_mpi_thread *thread = calloc(1, sizeof(*thread));

	if (thread)
		thread->size = calloc((size_t)n_routines * GN_MPI_CLASSES, sizeof(*thread->size));
	if (!thread || !thread->size) {
		free(thread);
		return NULL;
	}
	thread->number = threads.n++;
	thread->next = threads.all;
	threads.all = thread;
	write_thread(thread);
	return thread;
}

static struct gn_mpi_thread *take_thread(void)
{
	struct gn_mpi_thread *thread;

	pthread_mutex_lock(&threads.lock);
	thread = threads.idle;
	if (thread)
		threads.idle = thread->next_idle;
	else
		thread = make_thread();
	pthread_mutex_unlock(&threads.lock);
	return thread;
}

struct gn_mpi_thread *gn_mpi_thread_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct gn_stack_bounds bounds;
	struct gn_mpi_thread *thread;

	pthread_once(&once, open_file);
	thread = n_routines ? take_thread() : NULL;
	if (!thread) {
		gn_mpi_here = &nobody;
		return gn_mpi_here;
	}
	/* The stacks of one that had it before are gone. */
	gn_mpi_places_forget(thread);
	bounds = gn_stack_bounds();
	thread->stack_begin = bounds.begin;
	thread->stack_end = bounds.end;
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

static uint32_t class_of(int64_t bytes)
{
	return bytes <= 0   ? 0
	       : bytes == 1 ? 1
			    : 65 - (uint32_t)__builtin_clzll((uint64_t)bytes - 1);
}

static void add_size(struct gn_mpi_thread *thread, uint32_t routine, int64_t bytes, uint64_t ticks)
{
	const struct gn_mpi_size_record record = {
		.routine = (uint16_t)routine,
		.thread = thread->number,
		.class = class_of(bytes),
	};
	union gn_mpi_record **size = &thread->size[routine * GN_MPI_CLASSES + record.class];

	if (!*size)
		*size = gn_mpi_totals_add(&thread->chunk, GN_MPI_SIZE, &record, sizeof(record));
	if (!*size)
		return;
	(*size)->size.calls++;
	(*size)->size.bytes += (uint64_t)bytes;
	(*size)->size.ticks += ticks;
}

static struct gn_mpi_peer *find_peer(const struct gn_mpi_thread *thread,
				     const union gn_mpi_record *site, int32_t rank)
{
	const uint64_t hash = ((uintptr_t)site / GN_MPI_RECORD_BYTES + (uint64_t)(uint32_t)rank) *
			      0x9e3779b97f4a7c15u;
	uint32_t i = (uint32_t)(hash >> 32) & thread->peers_mask;

	while (thread->peer[i].record &&
	       (thread->peer[i].site != site || thread->peer[i].rank != rank))
		i = (i + 1) & thread->peers_mask;
	return &thread->peer[i];
}

static int grow_peers(struct gn_mpi_thread *thread)
{
	struct gn_mpi_peer *before = thread->peer;
	const uint32_t n_before = before ? thread->peers_mask + 1 : 0;
	const uint32_t n = before ? 2 * n_before : PEERS_FIRST;

	thread->peer = calloc(n, sizeof(*thread->peer));
	if (!thread->peer) {
		thread->peer = before;
		return -ENOMEM;
	}
	thread->peers_mask = n - 1;
	for (uint32_t i = 0; i < n_before; i++)
		if (before[i].record)
			*find_peer(thread, before[i].site, before[i].rank) = before[i];
	free(before);
	return 0;
}

static void add_messages(struct gn_mpi_thread *thread, const union gn_mpi_record *site,
			 int32_t rank, int64_t bytes)
{
	const struct gn_mpi_messages_record record = {
		.thread = thread->number,
		.site = gn_mpi_totals_place(site),
		.peer = rank,
	};
	struct gn_mpi_messages_record *messages;
	struct gn_mpi_peer *peer;

	if ((!thread->peer || 2 * thread->n_peers > thread->peers_mask) && grow_peers(thread))
		return;
	peer = find_peer(thread, site, rank);
	if (!peer->record) {
		peer->record =
			gn_mpi_totals_add(&thread->chunk, GN_MPI_MESSAGES, &record, sizeof(record));
		if (!peer->record)
			return;
		peer->site = site;
		peer->rank = rank;
		thread->n_peers++;
	}
	messages = &peer->record->messages;
	messages->messages++;
	messages->bytes += (uint64_t)bytes;
	if ((uint64_t)bytes > messages->most_bytes)
		messages->most_bytes = (uint64_t)bytes;
}

void gn_mpi_end(struct gn_mpi_call *call)
{
	const uint64_t ticks = call->end - call->begin;
	struct gn_mpi_site_record *site;

	call->site = gn_mpi_site_of_call(call);
	if (call->site) {
		site = &call->site->site;
		site->calls++;
		site->sent += (uint64_t)call->sent;
		site->received += (uint64_t)call->received;
		site->ticks += ticks;
		if (ticks > site->most_ticks)
			site->most_ticks = ticks;
		if (!call->is_pending)
			add_size(call->thread, call->routine,
				 call->sent ? call->sent : call->received, ticks);
		if (call->peer != GN_MPI_NO_PEER)
			add_messages(call->thread, call->site, call->peer, call->sent);
	}
	call->thread->frame = 0;
}

/* What another thread made is added up in a record of this one. */
static union gn_mpi_record *own_site(const struct gn_mpi_call *call,
				     const struct gn_mpi_request *request)
{
	const struct gn_mpi_site_record *site = &request->site->site;

	if (request->thread == call->thread->number)
		return request->site;
	return gn_mpi_site_record(call->thread, site->routine, site->communicator, site->frame);
}

void gn_mpi_complete(const struct gn_mpi_call *call, const struct gn_mpi_request *request,
		     uint64_t ticks, int64_t received)
{
	union gn_mpi_record *site = own_site(call, request);

	if (!site)
		return;
	site->site.completion_ticks += ticks;
	site->site.received += (uint64_t)received;
	if (request->flags & GN_MPI_RECEIVES)
		add_size(call->thread, site->site.routine, received, request->ticks);
}

void gn_mpi_restart(const struct gn_mpi_call *call, const struct gn_mpi_request *request)
{
	union gn_mpi_record *site = own_site(call, request);

	if (!site || request->flags & GN_MPI_RECEIVES)
		return;
	site->site.sent += (uint64_t)request->sent;
	add_size(call->thread, site->site.routine, request->sent, request->ticks);
	if (request->peer != GN_MPI_NO_PEER)
		add_messages(call->thread, site, request->peer, request->sent);
}
