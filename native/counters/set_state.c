/* What the life of an event set has in common: whether it may be changed, and what it holds. */
#include <unistd.h>

#include "overflow.h"
#include "sets.h"

int gn_set_no_memory(void)
{
	return gn_fail(GN_ENOMEM, "event set: out of memory; destroy sets, or count fewer events");
}

int gn_set_refuse_running(const struct gn_event_set *set)
{
	return gn_fail(GN_EISRUN, "event set %d: it is running; stop it first (gn_set_stop)",
		       set->handle);
}

struct gn_event_set *gn_set_use_stopped(gn_set handle, int *error)
{
	struct gn_event_set *set = gn_set_use(handle);

	*error = GN_OK;
	if (!set)
		*error = GN_ENOEVST;
	else if (set->is_running)
		*error = gn_set_refuse_running(set);
	return *error ? NULL : set;
}

struct gn_place *gn_set_take_place(const struct gn_options *options, int tid)
{
	switch (options->granularity) {
	case GN_GRANULARITY_PROCESS:
	case GN_GRANULARITY_PROCESS_GROUP:
		return gn_target_claim(options->pid ? options->pid : getpid(),
				       options->granularity == GN_GRANULARITY_PROCESS
					       ? GN_PLACE_PROCESS
					       : GN_PLACE_PROCESS_GROUP);
	case GN_GRANULARITY_CPU:
	case GN_GRANULARITY_SYSTEM:
		return gn_target_claim(-1, options->cpu);
	default:
		return gn_target_claim(options->pid ? options->pid : tid, options->cpu);
	}
}

static void end_plan(struct gn_event_set *set)
{
	if (set->is_planned)
		gn_plan_end(&set->plan);
	set->is_planned = 0;
}

void gn_set_forget(struct gn_event_set *set)
{
	gn_overflow_forget(set);
	end_plan(set);
	for (int m = 0; m < set->n_members; m++)
		gn_resolved_leave(set->member[m].of);
	set->n_members = 0;
	set->n_at = 0;
	set->is_plain = set->takes_turns = set->rotates = 0;
	set->components = 0;
}
