/* Event sets and their handles. */
#ifndef GNOMON_COUNTERS_SETS_H
#define GNOMON_COUNTERS_SETS_H

#include "fork_state.h"
#include "group_plan.h"
#include "resolve_cache.h"

/* Sets of no more events are read the quick way. */
#define GN_QUICK_MAX 16

/* The most names in braces. */
#define GN_GROUP_MAX GN_EVENTS_MAX

/* An event of a set: its native events are those that at[first] ... of the set names. */
struct gn_member {
	const struct gn_event *event;
	struct gn_resolved *of; /* what it is part of, and lives as long as */
	int first;
	int unit;     /* those of one number were added together ... */
	int together; /* ... and are to be counted at the same time */
};

struct gn_overflow_state;

struct gn_event_set {
	gn_set handle;
	uint32_t epoch; /* the process that it belongs to */
	int tid;	/* the thread that made it */
	int is_running;
	int has_started; /* at any time since it was empty by gn_set_clear() */
	int is_over; /* what it counts had ended when it started; what was inherited may live on */
	int had_events; /* at any time */
	int is_plain;	/* one read(2) gives all counts as they are, in order */
	int quick_fd; /* what gn_set_read() reads while that is so, it runs and is small; else -1 */
	uint64_t quick_zero[GN_QUICK_MAX]; /* base.value of the native events, side by side */
	int takes_turns;		   /* and whether by a thread of ours */
	int rotates;
	int is_attached;
	int is_planned; /* `plan` is there; it begins with the first event */
	uint64_t components;
	struct gn_place *place;
	struct gn_options options;
	struct gn_plan plan;
	int n_members, room;
	struct gn_member *member;
	int n_at, at_room;
	int *at;
	int units;
	struct gn_overflow_state *overflow; /* NULL: no event of it overflows */
};

/* A set that this process may use, else NULL and GN_ENOEVST explained. */
struct gn_event_set *gn_set_use(gn_set handle);

/* A set of whatever process; NULL if the handle is dead. */
struct gn_event_set *gn_set_find(gn_set handle);

/* GN_OK, or a GN_E*, explained: no slot is left. */
int gn_set_publish(struct gn_event_set *set);
void gn_set_withdraw(struct gn_event_set *set);

/* A set that may be changed, else NULL and the error, explained. */
struct gn_event_set *gn_set_use_stopped(gn_set handle, int *error);

/* GN_ENOMEM and GN_EISRUN, explained. */
int gn_set_no_memory(void);
int gn_set_refuse_running(const struct gn_event_set *set);

/* Where a set of such options counts. NULL: out of memory. */
struct gn_place *gn_set_take_place(const struct gn_options *options, int tid);

/*
 * The event that a name means in the set: its index, or GN_ENOEVNT or why the name is none,
 * explained.
 */
int gn_set_index(const struct gn_event_set *set, const char *name);

/*
 * The counts of a set that runs, in a signal handler: whatever the thread was doing with the set
 * goes on as if nothing had happened. scratch: 2 * plan.n_natives. 0 or a negative errno.
 */
int gn_set_peek(struct gn_event_set *set, struct gn_count *scratch, int64_t *counts);

/* Takes out all events and closes everything. */
void gn_set_forget(struct gn_event_set *set);

/* An empty plan for other options, say. GN_OK or a GN_E*, explained. */
int gn_set_begin_plan(const struct gn_event_set *set, const struct gn_options *options,
		      struct gn_plan *plan);

/* Opens everything anew by other options, and only then gives back what was open. The same. */
int gn_set_reopen(struct gn_event_set *set, const struct gn_options *options);

/* Sets what follows from the events that are in the set now. */
void gn_set_check(struct gn_event_set *set);

/* Whether the calling thread may read the set's counters without a system call. */
static inline int gn_set_is_own(const struct gn_event_set *set)
{
	return !(set->plan.flags & GN_USER_READ) || gn_is_self(set->epoch, set->tid);
}

#endif
