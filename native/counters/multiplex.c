/* Counting by a plan: enabling, turns, reading. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "event_pmu.h"
#include "group_plan.h"
#include "own_calls.h"

/* Where the kernel's own interval is within this factor of the slice, its rotation serves. */
#define NEAR 2

/*
 * Whether groups of this number are to take turns: not that of the clock, and not what the kernel
 * counts without a PMU, but for the sake of a limit.
 */
int gn_pack_takes_turns(const struct gn_plan *plan, int g)
{
	return g >= plan->has_clock && (plan->pack[g]->pmu || plan->limit);
}

/* The groups of PMU number `pmu`, in order; how many there are. */
static int groups_of(const struct gn_plan *plan, uint32_t pmu, int *groups)
{
	int n = 0;

	for (int g = 0; g < plan->n_packs; g++) {
		if (gn_pack_takes_turns(plan, g) && plan->pack[g]->pmu == pmu) {
			if (groups)
				groups[n] = g;
			n++;
		}
	}
	return n;
}

static int is_first_of_pmu(const struct gn_plan *plan, int g)
{
	for (int before = 0; before < g; before++) {
		if (gn_pack_takes_turns(plan, before) &&
		    plan->pack[before]->pmu == plan->pack[g]->pmu)
			return 0;
	}
	return gn_pack_takes_turns(plan, g);
}

/* The most groups that one PMU has. */
static int count_turns(const struct gn_plan *plan)
{
	int turns = 0;

	for (int g = 0; plan->is_multiplexed && g < plan->n_packs; g++) {
		if (is_first_of_pmu(plan, g)) {
			const int n = groups_of(plan, plan->pack[g]->pmu, NULL);

			turns = n > turns ? n : turns;
		}
	}
	return turns;
}

int gn_plan_has_turns(const struct gn_plan *plan)
{
	return count_turns(plan) > 1;
}

int gn_plan_rotates(const struct gn_plan *plan, uint64_t slice_ns)
{
	if (!gn_plan_has_turns(plan))
		return 0;
	for (int g = 0; g < plan->n_packs; g++) {
		uint64_t kernel_ns;

		if (!is_first_of_pmu(plan, g) || groups_of(plan, plan->pack[g]->pmu, NULL) < 2)
			continue;
		/* The kernel turns a PMU's groups when they do not fit, and no others. */
		kernel_ns = plan->limit ? 0 : gn_pmu_interval_ns(plan->pack[g]->pmu);
		if (kernel_ns < slice_ns / NEAR || kernel_ns > slice_ns * NEAR)
			return 1;
	}
	return 0;
}

/* The first native event that a PMU counts in turns; NULL: there is none. */
static const struct gn_native *first_in_turns(const struct gn_plan *plan)
{
	for (int i = 0; i < plan->n_natives; i++) {
		if (plan->native[i].pmu && gn_pack_takes_turns(plan, plan->native[i].group))
			return &plan->native[i];
	}
	return NULL;
}

/*
 * Bring the clock into the context of what takes turns, as rotate.h says. Where that fails, values
 * are too small by what programming the PMU takes.
 */
static void share_context(struct gn_plan *plan)
{
	const struct gn_native *native = first_in_turns(plan);

	for (int t = 0; native && !plan->clock_is_shared && t < plan->n_targets; t++) {
		const struct gn_target *target = &plan->target[t];

		if (!gn_group_add(target->group[0], &native->spec, target->pid, target->cpu))
			gn_group_remove(target->group[0], 1);
	}
	plan->clock_is_shared = !!native;
}

/*
 * Turn k has group k of every PMU, in every target; a PMU with fewer groups than turns begins
 * again with its first.
 */
static int start_rotation(struct gn_plan *plan, uint64_t slice_ns)
{
	const int turns = count_turns(plan);
	struct gn_group **all = NULL;
	int *groups = NULL;
	int width = 0, collected = 0, error = -ENOMEM;

	for (int g = 0; g < plan->n_packs; g++)
		width += is_first_of_pmu(plan, g) ? plan->n_targets : 0;
	all = malloc((size_t)turns * (size_t)width * sizeof(*all));
	groups = malloc((size_t)plan->n_packs * sizeof(*groups));
	if (!all || !groups)
		goto out;
	for (int turn = 0; turn < turns; turn++) {
		for (int g = 0; g < plan->n_packs; g++) {
			int n;

			if (!is_first_of_pmu(plan, g))
				continue;
			n = groups_of(plan, plan->pack[g]->pmu, groups);
			for (int t = 0; t < plan->n_targets; t++)
				all[collected++] = plan->target[t].group[groups[turn % n]];
		}
	}
	error = gn_rotation_start_wide(&plan->rotation, all, turns, width, slice_ns);
out:
	free(groups);
	free(all);
	return error;
}

typedef int each(struct gn_group *group);

/* The groups that are enabled all the time, of which the clock's is the first. */
static int steady(struct gn_plan *plan, int rotates, each *apply)
{
	int error = 0;

	for (int t = 0; t < plan->n_targets; t++) {
		for (int g = 0; g < plan->n_packs; g++) {
			int failed;

			if (rotates && gn_pack_takes_turns(plan, g))
				continue;
			failed = apply(plan->target[t].group[g]);
			error = error ? error : failed;
		}
	}
	return error;
}

int gn_plan_start(struct gn_plan *plan, int rotates, uint64_t slice_ns)
{
	int error = 0;

	if (rotates) {
		/* Making a thread is no part of what is counted. */
		if (!plan->rotation)
			error = gn_rotation_prepare(&plan->rotation);
		if (error)
			return error;
		share_context(plan);
	}
	error = steady(plan, rotates, gn_group_enable);
	if (!error && rotates)
		error = start_rotation(plan, slice_ns);
	if (error)
		steady(plan, rotates, gn_group_disable);
	return error;
}

int gn_plan_stop(struct gn_plan *plan, int rotates)
{
	const int turned = rotates ? gn_rotation_pause(plan->rotation) : 0;
	const int error = steady(plan, rotates, gn_group_disable);

	return turned ? turned : error;
}

int gn_plan_read_group(const struct gn_group *group, int is_own_thread, struct gn_reading *out)
{
	const ssize_t size = (ssize_t)gn_reading_size(group->n);
	ssize_t got;

	if (is_own_thread || !group->mapped)
		return gn_group_read(group, out);
	got = gn_read(group->fd[0], out, (size_t)size);
	if (got == size)
		return 0;
	return got < 0 ? -errno : -EBUSY;
}

static void add(struct gn_count *to, const struct gn_count *count)
{
	to->value += count->value;
	to->enabled += count->enabled;
	to->running += count->running;
}

static int read_pack(struct gn_plan *plan, int t, int g, int is_own_thread)
{
	const struct gn_group *group = plan->target[t].group[g];
	const struct gn_pack *pack = plan->pack[g];
	struct gn_count count[GN_EVENTS_MAX];
	int error;

	if (group->whole) {
		uint64_t words[3 + GN_EVENTS_MAX];
		struct gn_reading *reading = (struct gn_reading *)words;

		error = gn_plan_read_group(group, is_own_thread, reading);
		for (int i = 0; !error && i < pack->n; i++)
			count[i] = (struct gn_count){reading->value[i], reading->enabled,
						     reading->running};
	} else {
		error = gn_group_read_each(group, count);
	}
	for (int i = 0; !error && i < pack->n; i++)
		add(&plan->native[pack->native[i]].now, &count[i]);
	return error;
}

int gn_plan_read(struct gn_plan *plan, int is_own_thread)
{
	int error = 0;

	for (int i = 0; i < plan->n_natives; i++)
		plan->native[i].now = (struct gn_count){0};
	/* The clock's group comes last, so that no other event can have run for longer. */
	for (int t = 0; t < plan->n_targets; t++) {
		for (int g = plan->n_packs - 1; g >= 0; g--) {
			const int failed = read_pack(plan, t, g, is_own_thread);

			error = error ? error : failed;
		}
	}
	return error;
}
