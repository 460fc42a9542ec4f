/* Native events into kernel groups. */
#include "group_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_pmu.h"
#include "fork_state.h"

/* What one event wants of one native event. */
struct wish {
	struct gn_event_spec spec;
	uint32_t asked;
	uint32_t pmu;
	const struct gn_event *event;
};

/* Counts nothing, in user mode only, so that everybody may. */
static const struct gn_event_spec dummy_spec = {
	.type = PERF_TYPE_SOFTWARE,
	.exclude = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR,
	.config = PERF_COUNT_SW_DUMMY,
};

/* Group would have to share its PMU with another one; no error of perf_event_open(2). */
#define COMPETES (-ECHRNG)

static int grow(void **array, int n, size_t size)
{
	void *grown;

	/* At powers of two, so that adding one by one copies little. */
	if (n & (n - 1))
		return 0;
	grown = realloc(*array, (n ? (size_t)n * 2 : 1) * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	return 0;
}

static int same_spec(const struct gn_event_spec *first, const struct gn_event_spec *second)
{
	return first->type == second->type && first->config == second->config &&
	       first->config1 == second->config1 && first->config2 == second->config2 &&
	       first->config3 == second->config3;
}

/* A native event of the plan that a wish can share; group -1: in whatever group. */
static int find(const struct gn_plan *plan, const struct wish *wish, int group)
{
	for (int i = 0; i < plan->n_natives; i++) {
		const struct gn_native *native = &plan->native[i];

		if (!native->is_dummy && native->asked == wish->asked &&
		    same_spec(&native->spec, &wish->spec) && (group < 0 || native->group == group))
			return i;
	}
	return -1;
}

static void remove_target(struct gn_plan *plan, int t)
{
	struct gn_target *target = &plan->target[t];

	for (int g = 0; g < plan->n_packs; g++) {
		gn_group_close(target->group[g]);
		free(target->group[g]);
	}
	free(target->group);
	plan->n_targets--;
	memmove(target, target + 1, (size_t)(plan->n_targets - t) * sizeof(*target));
}

static int push_pack(struct gn_plan *plan)
{
	struct gn_pack *pack = NULL;
	int targets = 0;

	if (grow((void **)&plan->pack, plan->n_packs, sizeof(struct gn_pack *)))
		return -ENOMEM;
	pack = malloc(sizeof(*pack));
	if (!pack)
		return -ENOMEM;
	for (; targets < plan->n_targets; targets++) {
		struct gn_target *target = &plan->target[targets];
		struct gn_group *group;

		if (grow((void **)&target->group, plan->n_packs, sizeof(struct gn_group *)))
			break;
		group = malloc(sizeof(*group));
		if (!group)
			break;
		gn_group_begin(group, plan->flags);
		target->group[plan->n_packs] = group;
	}
	if (targets < plan->n_targets) {
		while (targets--)
			free(plan->target[targets].group[plan->n_packs]);
		free(pack);
		return -ENOMEM;
	}
	pack->pmu = 0;
	pack->n = 0;
	plan->pack[plan->n_packs++] = pack;
	return 0;
}

static void remove_pack(struct gn_plan *plan, int g)
{
	const size_t behind = (size_t)(plan->n_packs - g - 1);

	for (int t = 0; t < plan->n_targets; t++) {
		struct gn_group **group = &plan->target[t].group[g];

		gn_group_close(*group);
		free(*group);
		memmove(group, group + 1, behind * sizeof(*group));
	}
	free(plan->pack[g]);
	memmove(&plan->pack[g], &plan->pack[g + 1], behind * sizeof(plan->pack[g]));
	plan->n_packs--;
	for (int i = 0; i < plan->n_natives; i++)
		plan->native[i].group -= plan->native[i].group > g;
}

static void set_pmu(struct gn_plan *plan, struct gn_pack *pack)
{
	pack->pmu = 0;
	for (int i = 0; i < pack->n && !pack->pmu; i++)
		pack->pmu = plan->native[pack->native[i]].pmu;
}

static void remove_native(struct gn_plan *plan, int i)
{
	struct gn_native *native = &plan->native[i];
	struct gn_pack *pack = plan->pack[native->group];
	const int g = native->group, index = native->index;

	for (int t = 0; t < plan->n_targets; t++)
		gn_group_remove(plan->target[t].group[g], index);
	pack->n--;
	memmove(&pack->native[index], &pack->native[index + 1],
		(size_t)(pack->n - index) * sizeof(pack->native[0]));
	plan->n_natives--;
	memmove(native, native + 1, (size_t)(plan->n_natives - i) * sizeof(*native));
	for (int p = 0; p < plan->n_packs; p++) {
		for (int k = 0; k < plan->pack[p]->n; k++)
			plan->pack[p]->native[k] -= plan->pack[p]->native[k] > i;
	}
	for (int k = index; k < pack->n; k++)
		plan->native[pack->native[k]].index = k;
	set_pmu(plan, pack);
	if (!pack->n)
		remove_pack(plan, g);
}

static int narrower(const struct gn_plan *plan, const struct wish *wish, int error)
{
	const uint32_t bits = GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR;

	return plan->may_narrow && (error == -EACCES || error == -EPERM) &&
	       !(wish->event->flags &
		 (GN_EVENT_KERNEL_ONLY | GN_EVENT_TRACEPOINT | GN_EVENT_MODIFIED)) &&
	       (wish->spec.exclude & bits) != bits;
}

/* What perf_event_open(2) calls it: the calling thread has a name of its own there. */
static int pid_of(const struct gn_target *target)
{
	return gn_is_self(gn_epoch(), target->pid) ? 0 : target->pid;
}

/* A group whose thread has ended says so in its own way (ENODEV); a new event says it plainly. */
static int has_ended(const struct gn_target *target)
{
	struct gn_group group;
	int error;

	gn_group_begin(&group, 0);
	error = gn_group_add(&group, &dummy_spec, pid_of(target), target->cpu);
	gn_group_close(&group);
	return error == -ESRCH;
}

int gn_plan_is_over(const struct gn_plan *plan)
{
	for (int t = 0; t < plan->n_targets; t++) {
		if (plan->target[t].pid < 0 || !has_ended(&plan->target[t]))
			return 0;
	}
	return 1;
}

/* Opens the event in a group of every target; what targets have gone meanwhile are forgotten. */
static int open_in(struct gn_plan *plan, struct wish *wish, int g)
{
	int t = 0;

	while (t < plan->n_targets) {
		struct gn_target *target = &plan->target[t];
		int error = gn_group_add(target->group[g], &wish->spec, target->pid, target->cpu);

		if (!error) {
			t++;
			continue;
		}
		if (error == -ENODEV && target->group[g]->n && has_ended(target))
			error = -ESRCH;
		if (error == -ESRCH && plan->n_targets > 1) {
			remove_target(plan, t);
			continue;
		}
		while (t-- > 0)
			gn_group_remove(plan->target[t].group[g], plan->pack[g]->n);
		if (!narrower(plan, wish, error))
			return error;
		wish->spec.exclude |= GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR;
		t = 0;
	}
	return 0;
}

/*
 * A whole group has one time for all: what passed before the event was added is not its own, nor
 * what it counted (nothing).
 */
static struct gn_count zero_in(const struct gn_plan *plan, int g)
{
	const struct gn_pack *pack = plan->pack[g];
	struct gn_count zero = {0};

	if (pack->n && plan->target[0].group[g]->whole) {
		zero = plan->native[pack->native[0]].base;
		zero.value = 0;
	}
	return zero;
}

/* Opens the wish in group g, which there is. Its index or an errno. */
static int append(struct gn_plan *plan, struct wish *wish, int g)
{
	struct gn_pack *pack = plan->pack[g];
	struct gn_native *native;
	int error = grow((void **)&plan->native, plan->n_natives, sizeof(*native));

	if (!error)
		error = open_in(plan, wish, g);
	if (error)
		return error;
	native = &plan->native[plan->n_natives];
	memset(native, 0, sizeof(*native));
	native->spec = wish->spec;
	native->asked = wish->asked;
	native->pmu = wish->pmu;
	native->group = g;
	native->index = pack->n;
	native->base = zero_in(plan, g);
	native->is_new = plan->has_new = 1;
	pack->native[pack->n++] = plan->n_natives;
	if (!pack->pmu)
		pack->pmu = wish->pmu;
	return plan->n_natives++;
}

static int append_dummy(struct gn_plan *plan, int g)
{
	static const struct gn_event nobody = {.flags = GN_EVENT_MODIFIED};
	struct wish wish = {.spec = dummy_spec, .event = &nobody};
	const int native = append(plan, &wish, g);

	if (native < 0)
		return native;
	plan->native[native].users = 1;
	plan->native[native].is_dummy = 1;
	return 0;
}

/* Puts the wish into group g, which may be one more than there are. Its index or an errno. */
static int join(struct gn_plan *plan, struct wish *wish, int g)
{
	int is_new = g == plan->n_packs, native = 0;

	if (is_new)
		native = push_pack(plan);
	if (native)
		return native;
	if (is_new && plan->needs_dummies && wish->pmu)
		native = append_dummy(plan, g);
	if (!native)
		native = append(plan, wish, g);
	if (native >= 0 || !is_new)
		return native;
	if (plan->pack[g]->n)
		remove_native(plan, plan->n_natives - 1);
	else
		remove_pack(plan, g);
	return native;
}

static int is_full(int error)
{
	return error == -EINVAL || error == -ENOSPC;
}

/*
 * Without multiplexing one group holds all that one PMU counts, so that all is counted all the
 * time or refused; only what cannot be in one group with it gets another.
 */
static int place_beside(struct gn_plan *plan, struct wish *wish)
{
	int error = -EINVAL;

	for (int g = 0; g <= plan->n_packs && is_full(error); g++) {
		const int competes =
			g < plan->n_packs && wish->pmu && plan->pack[g]->pmu == wish->pmu;

		error = join(plan, wish, g);
		if (competes && is_full(error))
			return COMPETES;
	}
	return error;
}

/* Several wishes into one group; what is in it already is shared. */
static int place_in(struct gn_plan *plan, struct wish *wishes, int n, int g, int *native_of,
		    int *failed)
{
	const int before = plan->n_natives;

	for (int i = 0; i < n; i++) {
		native_of[i] = find(plan, &wishes[i], g);
		if (native_of[i] < 0)
			native_of[i] = join(plan, &wishes[i], g);
		if (native_of[i] < 0) {
			*failed = i;
			while (plan->n_natives > before)
				remove_native(plan, plan->n_natives - 1);
			return native_of[i];
		}
	}
	return 0;
}

/* Whether group g would have more events than the limit allows. */
static int exceeds(const struct gn_plan *plan, const struct wish *wishes, int n, int g)
{
	const struct gn_pack *pack = plan->pack[g];
	int total = pack->n - plan->native[pack->native[0]].is_dummy;

	for (int i = 0; i < n; i++)
		total += find(plan, &wishes[i], g) < 0;
	return plan->limit && total > plan->limit;
}

/* The first group that takes them all, else a new one. */
static int place_together(struct gn_plan *plan, struct wish *wishes, int n, int *native_of,
			  int *failed)
{
	int error = -EINVAL, in_software = !plan->limit;

	for (int i = 0; i < n; i++)
		in_software &= !wishes[i].pmu;
	if (in_software) {
		error = place_in(plan, wishes, n, 0, native_of, failed);
		if (!is_full(error))
			return error;
	}
	for (int g = plan->has_clock; g <= plan->n_packs && is_full(error); g++) {
		if (g < plan->n_packs && exceeds(plan, wishes, n, g))
			continue;
		error = place_in(plan, wishes, n, g, native_of, failed);
	}
	return error;
}

static int place_each(struct gn_plan *plan, struct wish *wishes, int n, int *native_of, int *failed)
{
	for (int i = 0; i < n; i++) {
		int error = 0;

		native_of[i] = find(plan, &wishes[i], -1);
		if (native_of[i] < 0 && plan->is_multiplexed)
			error = place_together(plan, &wishes[i], 1, &native_of[i], failed);
		else if (native_of[i] < 0)
			native_of[i] = error = place_beside(plan, &wishes[i]);
		if (error < 0) {
			*failed = i;
			return error;
		}
	}
	return 0;
}

static int place(struct gn_plan *plan, struct wish *wishes, int n, int together, int *native_of,
		 int *failed)
{
	const int before = plan->n_natives;
	int error = -EINVAL;

	if (plan->is_multiplexed && n > 1)
		error = place_together(plan, wishes, n, native_of, failed);
	if (!plan->is_multiplexed || n == 1 || (is_full(error) && !together))
		error = place_each(plan, wishes, n, native_of, failed);
	while (error && plan->n_natives > before)
		remove_native(plan, plan->n_natives - 1);
	return error;
}

/* Whether the event would open if it were alone, and left out no more than this. */
static int opens_alone(const struct gn_plan *plan, const struct wish *wish, uint32_t exclude)
{
	struct gn_event_spec spec = wish->spec;
	struct gn_group group;
	int error;

	spec.exclude = exclude;
	gn_group_begin(&group, plan->flags);
	error = gn_group_add(&group, &spec, pid_of(&plan->target[0]), plan->target[0].cpu);
	gn_group_close(&group);
	return !error;
}

static int explain(const struct gn_plan *plan, const struct wish *wish, int n, int error,
		   struct gn_error_text *why)
{
	const struct gn_event *event = wish->event;
	struct gn_error_text cause;
	int code;

	if ((error == COMPETES || is_full(error)) && (plan->n_natives > plan->has_clock || n > 1) &&
	    wish->pmu && opens_alone(plan, wish, wish->spec.exclude))
		return gn_error_set(
			why, GN_ECNFLCT,
			"event '%s': the PMU has no counter left for it beside the other "
			"events%s; %s",
			event->name, n > 1 ? " that it is to be counted with" : " of the set",
			plan->is_multiplexed ? "make the group smaller"
					     : "count it in a set of its own, or let events "
					       "take turns (gn_set_multiplex)");
	if ((error == -EINVAL || error == -EOPNOTSUPP) && wish->spec.exclude &&
	    opens_alone(plan, wish, 0))
		return gn_error_set(
			why, GN_EINVAL_DOM,
			"event '%s': its PMU cannot leave out a privilege level; count it in "
			"all domains, without the modifiers u, k and h",
			event->name);
	code = gn_refusal_on(plan->target[0].cpu, error == COMPETES ? -EINVAL : error, event->flags,
			     &cause);
	return gn_error_set(why, code, "event '%s': %s", event->name, cause.text);
}

static struct wish wish_for(const struct gn_plan *plan, const struct gn_event *event, int i)
{
	struct wish wish = {.spec = event->spec[i], .event = event};

	if (!(event->flags & GN_EVENT_MODIFIED))
		wish.spec.exclude |= plan->exclude;
	wish.asked = wish.spec.exclude;
	wish.pmu = gn_pmu_of(&wish.spec);
	for (int s = 0; plan->sampling && s < plan->sampling->n; s++) {
		const struct gn_event_spec *sampled = &plan->sampling->event[s].spec;

		if (plan->sampling->event[s].asked != wish.asked || !same_spec(sampled, &wish.spec))
			continue;
		wish.spec.period = sampled->period;
		wish.spec.sample_type = sampled->sample_type;
		wish.spec.precise = sampled->precise;
		wish.spec.watermark = sampled->watermark;
	}
	return wish;
}

int gn_plan_add(struct gn_plan *plan, const struct gn_event *const *events, int n, int together,
		int *native_of, struct gn_error_text *why)
{
	struct wish few[8], *wishes = few;
	int total = 0, wished = 0, failed = 0, error;

	for (int i = 0; i < n; i++)
		total += events[i]->n;
	if (total > (int)(sizeof(few) / sizeof(few[0])))
		wishes = malloc((size_t)total * sizeof(*wishes));
	if (!wishes)
		return gn_error_set(why, GN_ENOMEM, "event '%s': out of memory; count fewer events",
				    events[0]->name);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < events[i]->n; k++)
			wishes[wished++] = wish_for(plan, events[i], k);
	}
	error = place(plan, wishes, total, together, native_of, &failed);
	if (error)
		error = explain(plan, &wishes[failed], total, error, why);
	for (int i = 0; !error && i < total; i++)
		plan->native[native_of[i]].users++;
	if (wishes != few)
		free(wishes);
	return error;
}

/* Whether nobody uses any event of a group but a dummy that leads it. */
static int is_idle(const struct gn_plan *plan, const struct gn_native *native)
{
	const struct gn_pack *pack = plan->pack[native->group];

	return native->is_dummy && pack->n == 1 && !(plan->has_clock && native->group == 0);
}

int gn_plan_drop_unused(struct gn_plan *plan, int *native_of, int n)
{
	int all = 1;

	/* From the end, so that a dummy comes after those that it leads. */
	for (int i = plan->n_natives - 1; i >= 0; i--) {
		const struct gn_native *native = &plan->native[i];

		if (native->users && !is_idle(plan, native))
			continue;
		if (native->index == 0 && plan->pack[native->group]->n > 1) {
			all = 0;
			continue;
		}
		remove_native(plan, i);
		for (int k = 0; k < n; k++)
			native_of[k] -= native_of[k] > i;
	}
	return all;
}

static uint32_t excluded(int domain)
{
	uint32_t exclude = 0;

	if (domain == GN_DOMAIN_DEFAULT)
		return 0;
	exclude |= domain & GN_DOMAIN_USER ? 0 : GN_EXCLUDE_USER;
	exclude |= domain & GN_DOMAIN_KERNEL ? 0 : GN_EXCLUDE_KERNEL;
	exclude |= domain & GN_DOMAIN_HYPERVISOR ? 0 : GN_EXCLUDE_HYPERVISOR;
	return exclude;
}

/*
 * Whether a hardware event that leads a group keeps the kernel from seeing that the group does not
 * fit: Arm's driver leaves out a leader that is off, unless an execve will switch it on, which is
 * nothing for who may execute a program while the set stands still.
 */
static int leaders_hide(const struct gn_plan *plan)
{
#if defined(__aarch64__) || defined(__arm__)
	return !(plan->flags & GN_USER_READ);
#else
	(void)plan;
	return 0;
#endif
}

/* Linux before 5.13 refuses to leave out processes (EINVAL). */
static int check_inheritance(const struct gn_plan *plan)
{
	struct gn_group group;
	int error;

	if (!(plan->flags & GN_INHERIT_THREADS))
		return 0;
	gn_group_begin(&group, plan->flags);
	error = gn_group_add(&group, &dummy_spec, 0, -1);
	gn_group_close(&group);
	return error;
}

int gn_plan_begin(struct gn_plan *plan, const struct gn_options *options,
		  const struct gn_target *targets, int n, int is_own_thread)
{
	const int is_inherited = options->inherit ||
				 options->granularity == GN_GRANULARITY_PROCESS ||
				 options->granularity == GN_GRANULARITY_PROCESS_GROUP;
	int error = 0;

	memset(plan, 0, sizeof(*plan));
	if (is_inherited)
		plan->flags |= options->granularity == GN_GRANULARITY_PROCESS && !options->inherit
				       ? GN_INHERIT_THREADS
				       : GN_INHERIT;
	plan->flags |= options->pinned ? GN_PINNED : 0;
	plan->flags |= options->exclusive ? GN_EXCLUSIVE : 0;
	if (is_own_thread && !is_inherited)
		plan->flags |= GN_USER_READ;
	plan->needs_dummies = leaders_hide(plan);
	plan->exclude = excluded(options->domain);
	plan->may_narrow = options->domain == GN_DOMAIN_DEFAULT;
	plan->is_multiplexed = options->multiplex;
	plan->limit = options->limit;
	plan->target = malloc((size_t)n * sizeof(*plan->target));
	if (!plan->target)
		return -ENOMEM;
	for (int t = 0; t < n; t++)
		plan->target[t] = (struct gn_target){targets[t].pid, targets[t].cpu, NULL};
	plan->n_targets = n;
	error = check_inheritance(plan);
	/* A thread that is made after the events were opened would inherit them. */
	if (!error && options->multiplex && is_inherited)
		error = gn_rotation_prepare(&plan->rotation);
	/* The dummy tells how long counting lasted, where groups are enabled one at a time. */
	if (!error && options->multiplex)
		error = push_pack(plan);
	if (!error && options->multiplex)
		error = append_dummy(plan, 0);
	plan->has_clock = options->multiplex;
	if (error)
		gn_plan_end(plan);
	return error;
}

void gn_plan_end(struct gn_plan *plan)
{
	gn_rotation_stop(plan->rotation);
	while (plan->n_targets)
		remove_target(plan, plan->n_targets - 1);
	while (plan->n_packs)
		free(plan->pack[--plan->n_packs]);
	free(plan->pack);
	free(plan->target);
	free(plan->native);
	memset(plan, 0, sizeof(*plan));
}
