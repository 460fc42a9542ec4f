/*
 * A plan: the native events of a set, open, in kernel groups, for every thread or CPU that is
 * counted. Events take part in it by the indices of their native events; several may share one.
 */
#ifndef GNOMON_COUNTERS_GROUP_PLAN_H
#define GNOMON_COUNTERS_GROUP_PLAN_H

#include "event_resolver.h"

#include "gnomon/rotate.h"

/* Native events that overflow: those of the same encoding, which leave out the same. */
struct gn_sampling {
	int n;
	struct {
		struct gn_event_spec spec; /* with a period */
		uint32_t asked;
	} *event;
};

/* A native event, open in every target. */
struct gn_native {
	struct gn_event_spec spec; /* as opened */
	uint32_t asked;		   /* what the event and the set asked to leave out */
	uint32_t pmu;		   /* gn_pmu_of() */
	int users;		   /* events made of it; 0: only there because it leads a group */
	int is_dummy;		   /* counts nothing: leads a group for the sake of the others */
	int group;
	int index;	       /* within the group */
	int is_new;	       /* added since the set last started: there is no count */
	struct gn_count base;  /* what the kernel had counted when we last began at zero */
	struct gn_count now;   /* what it had when last asked */
	struct gn_count count; /* of the last run, or up to the last read */
};

/* A kernel group, which every target has one of. */
struct gn_pack {
	uint32_t pmu; /* of its hardware events; 0: there are none */
	int n;
	int native[GN_EVENTS_MAX];
};

/* What is counted: a thread, or a CPU (pid -1). */
struct gn_target {
	int pid;
	int cpu;
	struct gn_group **group;
};

struct gn_plan {
	uint32_t flags;	     /* of gn_group_begin() */
	uint32_t exclude;    /* the domain of the set */
	int is_multiplexed;  /* more groups are made where one does not hold all */
	int may_narrow;	     /* to user mode, where the kernel allows no more */
	int limit;	     /* native events a group, 0 for no limit */
	int has_clock;	     /* native 0 is a dummy, always enabled: the time of counting */
	int clock_is_shared; /* with the groups that take turns: it is in their context */
	int needs_dummies;   /* no hardware event may lead a group */
	int n_targets;
	struct gn_target *target;
	int n_packs;
	struct gn_pack **pack;
	int n_natives;
	int has_new; /* native events that are new */
	struct gn_native *native;
	struct gn_rotation *rotation;
	const struct gn_sampling *sampling; /* NULL: no event overflows */
};

/*
 * An empty plan for n targets, of which pid and cpu are given. is_own_thread: the only one is the
 * calling thread, which may then read its counters without a system call. 0 or a negative errno.
 */
int gn_plan_begin(struct gn_plan *plan, const struct gn_options *options,
		  const struct gn_target *targets, int n, int is_own_thread);
void gn_plan_end(struct gn_plan *plan);

/*
 * Opens the native events of n events, which are counted at the same time if `together`.
 * native_of: room for all their indices, event after event. On failure the plan is as it was, and
 * why says which event would not open.
 */
int gn_plan_add(struct gn_plan *plan, const struct gn_event *const *events, int n, int together,
		int *native_of, struct gn_error_text *why);

/*
 * Gives back the native events that nobody uses any more; the indices native_of[n] follow those
 * that move up. Returns 0 if one had to stay, as its group would break up without it.
 */
int gn_plan_drop_unused(struct gn_plan *plan, int *native_of, int n);

/* Whether every thread that is counted has ended; what they made and is inherited may live on. */
int gn_plan_is_over(const struct gn_plan *plan);

/* Reads all native events, into `now`. is_own_thread: as above, of the caller. 0 or an errno. */
int gn_plan_read(struct gn_plan *plan, int is_own_thread);

/* The same of one group of a plan that has one target. */
int gn_plan_read_group(const struct gn_group *group, int is_own_thread, struct gn_reading *out);

/* Whether groups take turns on a PMU, so that not everything is counted all the time. */
int gn_plan_has_turns(const struct gn_plan *plan);

/* Whether the events of group g do. */
int gn_pack_takes_turns(const struct gn_plan *plan, int g);

/* Whether it is our own thread that changes turns of such a length, and not the kernel. */
int gn_plan_rotates(const struct gn_plan *plan, uint64_t slice_ns);

/*
 * Enables and disables everything. 0 or a negative errno; what does not start stands still. `now`
 * is what was counted at the end only after another read.
 */
int gn_plan_start(struct gn_plan *plan, int rotates, uint64_t slice_ns);
int gn_plan_stop(struct gn_plan *plan, int rotates);

#endif
