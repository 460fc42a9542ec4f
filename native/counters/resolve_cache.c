/* Names that were resolved. */
#include "resolve_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fork_state.h"

/* One name can mean several: an event of each kind of core, or a pattern of tracepoints. */
#define EVENTS_MAX 256

/* By hash, one name a slot: enough for the events of a program, and soon replaced. */
#define SLOTS 64

static struct {
	struct gn_resolved *resolved;
	char name[GN_NAME_MAX];
} cache[SLOTS];

static unsigned int slot_of(const char *name)
{
	unsigned int hash = 2166136261u; /* FNV-1a */

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 16777619u;
	return (hash ^ hash >> 16) % SLOTS;
}

void gn_resolved_take(struct gn_resolved *resolved)
{
	atomic_fetch_add_explicit(&resolved->users, 1, memory_order_relaxed);
}

void gn_resolved_leave(struct gn_resolved *resolved)
{
	if (atomic_fetch_sub(&resolved->users, 1) > 1)
		return;
	for (int i = 0; i < resolved->n; i++)
		gn_event_free(resolved->event[i]);
	free(resolved);
}

static struct gn_resolved *recall(const char *name, unsigned int slot)
{
	struct gn_process *process = gn_process();
	struct gn_resolved *resolved = NULL;

	if (!process)
		return NULL;
	pthread_mutex_lock(&process->lock);
	if (cache[slot].resolved && !strcmp(cache[slot].name, name)) {
		resolved = cache[slot].resolved;
		gn_resolved_take(resolved);
	}
	pthread_mutex_unlock(&process->lock);
	return resolved;
}

/* A module can be loaded anew, and its tracepoints then have other numbers. */
static int is_lasting(const struct gn_resolved *resolved)
{
	for (int i = 0; i < resolved->n; i++) {
		if (resolved->event[i]->flags & GN_EVENT_TRACEPOINT)
			return 0;
	}
	return 1;
}

static void remember(const char *name, unsigned int slot, struct gn_resolved *resolved)
{
	struct gn_process *process = gn_process();
	struct gn_resolved *before;

	if (!process || strlen(name) >= sizeof(cache[slot].name) || !is_lasting(resolved))
		return;
	gn_resolved_take(resolved);
	pthread_mutex_lock(&process->lock);
	before = cache[slot].resolved;
	/* In this order, for a child that is forked meanwhile. */
	atomic_signal_fence(memory_order_seq_cst);
	cache[slot].resolved = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	strcpy(cache[slot].name, name);
	atomic_signal_fence(memory_order_seq_cst);
	cache[slot].resolved = resolved;
	pthread_mutex_unlock(&process->lock);
	if (before)
		gn_resolved_leave(before);
}

static int make(struct gn_event **event, int n, struct gn_resolved **resolved,
		struct gn_error_text *why)
{
	struct gn_resolved *copy = malloc(sizeof(*copy) + (size_t)n * sizeof(struct gn_event *));

	if (!copy) {
		while (n-- > 0)
			gn_event_free(event[n]);
		return gn_error_set(why, GN_ENOMEM, "event: out of memory; destroy sets");
	}
	atomic_init(&copy->users, 1);
	copy->n = n;
	memcpy(copy->event, event, (size_t)n * sizeof(struct gn_event *));
	*resolved = copy;
	return GN_OK;
}

int gn_resolved_name(const char *name, struct gn_resolved **resolved, struct gn_error_text *why)
{
	const unsigned int slot = slot_of(name);
	struct gn_event *event[EVENTS_MAX];
	int n, error;

	*resolved = recall(name, slot);
	if (*resolved)
		return GN_OK;
	error = gn_resolve(name, event, EVENTS_MAX, &n, why);
	if (!error)
		error = make(event, n, resolved, why);
	if (!error)
		remember(name, slot, *resolved);
	return error;
}

int gn_resolved_code(uint32_t code, struct gn_resolved **resolved, struct gn_error_text *why)
{
	struct gn_event *event[EVENTS_MAX];
	int n, error = gn_resolve_code(code, event, EVENTS_MAX, &n, why);

	return error ? error : make(event, n, resolved, why);
}

void gn_resolved_forget(void)
{
	struct gn_process *process = gn_process();

	for (int slot = 0; process && slot < SLOTS; slot++) {
		struct gn_resolved *before;

		pthread_mutex_lock(&process->lock);
		before = cache[slot].resolved;
		cache[slot].resolved = NULL;
		pthread_mutex_unlock(&process->lock);
		if (before)
			gn_resolved_leave(before);
	}
}
