/* Event sets: opening what they count, and counting something else. */
#include <errno.h>
#include <stdlib.h>

#include "overflow.h"
#include "sets.h"
#include "targets.h"

int gn_set_begin_plan(const struct gn_event_set *set, const struct gn_options *options,
		      struct gn_plan *plan)
{
	struct gn_target *targets;
	const int n = gn_targets_find(options, set->tid, &targets);
	const int is_own_thread = options->granularity == GN_GRANULARITY_THREAD &&
				  options->pid == 0 && options->cpu == -1;
	struct gn_error_text cause;
	int error;

	if (n < 0)
		return n;
	error = gn_plan_begin(plan, options, targets, n, is_own_thread);
	free(targets);
	if (!error) {
		plan->sampling = set->overflow ? &set->overflow->sampling : NULL;
		/* The page of a counter that is read without a system call is no ring. */
		if (plan->sampling && plan->sampling->n)
			plan->flags &= ~(uint32_t)GN_USER_READ;
		return GN_OK;
	}
	if (error == -EINVAL && options->granularity == GN_GRANULARITY_PROCESS)
		return gn_fail(GN_ENOSUPP,
			       "event set %d: this kernel (before 5.13) cannot count the threads "
			       "of a process without the processes that it makes; set inherit too",
			       set->handle);
	error = gn_refusal(error, 0, &cause);
	return gn_fail(error, "event set %d: %s", set->handle, cause.text);
}

static int is_direct(const struct gn_event_set *set, int m)
{
	const struct gn_event *event = set->member[m].event;

	return event->n == 1 && !event->ops && event->factor[0] == 1 && set->at[m] == m &&
	       set->plan.native[m].index == m;
}

void gn_set_check(struct gn_event_set *set)
{
	const struct gn_plan *plan = &set->plan;

	if (!set->n_members) {
		gn_set_forget(set);
		return;
	}
	set->is_plain = !plan->has_clock && plan->n_targets == 1 && plan->n_packs == 1 &&
			plan->target[0].group[0]->whole && plan->n_natives == set->n_members &&
			set->n_at == set->n_members;
	set->components = 0;
	for (int m = 0; m < set->n_members; m++) {
		set->is_plain = set->is_plain && is_direct(set, m);
		set->components |= (uint64_t)1 << set->member[m].event->component;
	}
	/* Why it cannot, gn_set_start() says. */
	gn_overflow_arm(set);
	set->takes_turns = gn_plan_has_turns(plan);
	set->rotates = set->takes_turns && gn_plan_rotates(plan, set->options.slice_ns);
}

int gn_set_reopen(struct gn_event_set *set, const struct gn_options *options)
{
	const struct gn_event *events[GN_GROUP_MAX];
	struct gn_plan plan;
	int *native_of, error;

	error = gn_set_begin_plan(set, options, &plan);
	if (error)
		return error;
	native_of = malloc((size_t)set->n_at * sizeof(*native_of));
	if (!native_of)
		error = gn_set_no_memory();
	for (int m = 0, n; !error && m < set->n_members; m += n) {
		const struct gn_member *first = &set->member[m];

		for (n = 0;
		     m + n < set->n_members && n < GN_GROUP_MAX && first[n].unit == first->unit;
		     n++)
			events[n] = first[n].event;
		error = gn_plan_add(&plan, events, n, first->together, &native_of[first->first],
				    gn_last_error());
	}
	if (error) {
		gn_plan_end(&plan);
		free(native_of);
		return error;
	}
	for (int k = 0; k < set->n_at; k++) {
		plan.native[native_of[k]].count = set->plan.native[set->at[k]].count;
		plan.native[native_of[k]].is_new = set->plan.native[set->at[k]].is_new;
	}
	gn_overflow_disarm(set);
	gn_plan_end(&set->plan);
	set->plan = plan;
	free(set->at);
	set->at = native_of;
	set->at_room = set->n_at;
	return GN_OK;
}

static int apply(struct gn_event_set *set, const struct gn_options *options)
{
	struct gn_place *place;
	int error;

	if (set->overflow && set->overflow->n)
		return gn_fail(GN_EINVAL,
			       "event set %d: events of it overflow, which takes the thread that "
			       "made it and no turns; end that first (a threshold of 0)",
			       set->handle);
	place = gn_set_take_place(options, set->tid);
	error = !place ? gn_set_no_memory() : set->is_planned ? gn_set_reopen(set, options) : GN_OK;

	if (error) {
		if (place)
			gn_target_release(place);
		return error;
	}
	gn_target_release(set->place);
	set->place = place;
	set->options = *options;
	gn_set_check(set);
	return GN_OK;
}

/* An empty set opens nothing that would show whether it may be attached. */
static int probe(struct gn_event_set *set, const struct gn_options *options)
{
	static const struct gn_event_spec dummy = {
		.type = PERF_TYPE_SOFTWARE,
		.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR,
		.config = PERF_COUNT_SW_DUMMY,
	};
	struct gn_error_text cause;
	struct gn_plan plan;
	struct gn_group group;
	int error;

	if (set->is_planned)
		return GN_OK;
	error = gn_set_begin_plan(set, options, &plan);
	if (error)
		return error;
	gn_group_begin(&group, plan.flags);
	error = gn_group_add(&group, &dummy, plan.target[0].pid, plan.target[0].cpu);
	gn_group_close(&group);
	gn_plan_end(&plan);
	if (!error)
		return GN_OK;
	error = gn_refusal_on(options->cpu, error, 0, &cause);
	return gn_fail(error, "pid %d, CPU %d: %s", options->pid, options->cpu, cause.text);
}

int gn_set_attach(gn_set handle, int pid, int cpu)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct gn_options options;

	if (!set)
		return error;
	if (set->is_attached)
		return gn_fail(GN_EINVAL,
			       "event set %d: it is attached to pid %d, CPU %d; detach it first "
			       "(gn_set_detach)",
			       handle, set->options.pid, set->options.cpu);
	options = set->options;
	error = gn_options_attach(&options, pid, cpu);
	if (!error)
		error = probe(set, &options);
	if (!error)
		error = apply(set, &options);
	if (!error)
		set->is_attached = 1;
	return error;
}

int gn_set_detach(gn_set handle)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct gn_options options;

	if (!set)
		return error;
	if (!set->is_attached)
		return gn_fail(GN_EINVAL,
			       "event set %d: it is not attached; it counts the thread that made "
			       "it",
			       handle);
	options = set->options;
	options.pid = 0;
	options.cpu = -1;
	if (options.granularity == GN_GRANULARITY_CPU)
		options.granularity = GN_GRANULARITY_THREAD;
	error = apply(set, &options);
	if (!error)
		set->is_attached = 0;
	return error;
}

int gn_set_multiplex(gn_set handle, uint64_t slice_ns)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct gn_options options;

	if (!set)
		return error;
	options = set->options;
	options.multiplex = 1;
	options.slice_ns = slice_ns;
	error = gn_options_check(&options);
	return error ? error : apply(set, &options);
}
