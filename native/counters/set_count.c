/*
 * Event sets: counting. While a set stands still, `base` of every native event is what the kernel
 * has counted so far, so that a start is one ioctl and a reset, where it takes a read, loses
 * nothing. Nothing here allocates or locks but the first start of a rotation.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "overflow.h"
#include "own_calls.h"
#include "sets.h"

/* Scaled counts of groups that ran for fewer slices may be far off. */
#define SLICES_ENOUGH 10

static int kernel_error(const struct gn_event_set *set, int error)
{
	struct gn_error_text cause;

	if (error == -EBUSY)
		return gn_fail(GN_ECLOST,
			       "event set %d: others have the counters that its pinned events "
			       "need; end other profilers, or do not pin",
			       set->handle);
	if (error == -EMFILE || error == -EAGAIN)
		return gn_fail(GN_ESYS,
			       "event set %d: no thread can be made that changes turns (%s); end "
			       "threads, or raise `ulimit -u`",
			       set->handle, strerror(-error));
	error = gn_refusal(error, 0, &cause);
	return gn_fail(error, "event set %d: %s", set->handle, cause.text);
}

static int not_running(const struct gn_event_set *set)
{
	return gn_fail(GN_ENOTRUN, "event set %d: it is not running; start it first (gn_set_start)",
		       set->handle);
}

static int never_started(const struct gn_event_set *set)
{
	return gn_fail(GN_ENOTRUN,
		       "event set %d: it was never started, so there is nothing to read; start it "
		       "first (gn_set_start)",
		       set->handle);
}

/* A thread and what it did are gone; GN_ESYS is what gn_set_attach() says of it. */
static int is_over(const struct gn_event_set *set)
{
	return gn_fail(GN_ESYS,
		       "event set %d: the thread or process that it counts has ended; make a new "
		       "set, or let it count one that runs (gn_set_attach)",
		       set->handle);
}

static int no_room(const struct gn_event_set *set)
{
	return gn_fail(GN_EINVAL, "event set %d: no room for its %d counts; give an array",
		       set->handle, set->n_members);
}

/* --- values ----------------------------------------------------------------------------------- */

static struct gn_count since(const struct gn_native *native)
{
	return (struct gn_count){
		.value = native->now.value - native->base.value,
		.enabled = native->now.enabled - native->base.enabled,
		.running = native->now.running - native->base.running,
	};
}

/* Sets `count` of every native event to what it has counted since the set began at zero. */
static void take_counts(struct gn_event_set *set)
{
	const struct gn_plan *plan = &set->plan;
	struct gn_count clock = {0};

	if (plan->has_clock)
		clock = since(&plan->native[0]);
	for (int i = 0; i < plan->n_natives; i++) {
		struct gn_native *native = &plan->native[i];

		native->count = since(native);
		if (set->rotates && gn_pack_takes_turns(plan, native->group))
			native->count.enabled = clock.enabled;
		if (native->count.running > native->count.enabled)
			native->count.enabled = native->count.running;
	}
}

static void begin_at_zero(struct gn_event_set *set)
{
	for (int i = 0; i < set->plan.n_natives; i++)
		set->plan.native[i].base = set->plan.native[i].now;
}

static void forget_counts(struct gn_event_set *set)
{
	for (int i = 0; i < set->plan.n_natives; i++)
		set->plan.native[i].count = (struct gn_count){0};
}

static int was_scaled(const struct gn_count *count)
{
	return count->running != count->enabled;
}

static int was_missed(const struct gn_count *count)
{
	return count->enabled && !count->running;
}

/* Whether there is no count at all; 0 is one only where something was there to count it. */
static int is_missing(const struct gn_event_set *set, const struct gn_native *native)
{
	return native->is_new || was_missed(&native->count) ||
	       (set->is_over && !native->count.enabled);
}

static double scale_of(const struct gn_count *count)
{
	return was_scaled(count) ? (double)count->enabled / (double)count->running : 1;
}

/* To the nearest integer, or the end of the range. */
static int64_t rounded(double value)
{
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value < -0x1p63)
		return INT64_MIN + 1;
	return llround(value);
}

/* What several native events make of one. */
struct sum {
	struct gn_count count; /* value: of one native event that enters as it is */
	int64_t raw;
	double value;
	int is_missing;
	int is_scaled;
};

static const struct gn_native *native_of(const struct gn_event_set *set,
					 const struct gn_member *member, int i)
{
	return &set->plan.native[set->at[member->first + i]];
}

static int64_t add_up(const struct gn_event_set *set, const struct gn_member *member)
{
	__int128 total = 0;

	for (int i = 0; i < member->event->n; i++)
		total +=
			(__int128)member->event->factor[i] * native_of(set, member, i)->count.value;
	if (total > INT64_MAX)
		return INT64_MAX;
	return total <= INT64_MIN ? INT64_MIN + 1 : (int64_t)total;
}

/* By the formula if there is one, else by the factors. -1: there is no value. */
static int combine(const struct gn_event *event, const double *count, uint64_t enabled_ns,
		   double *value)
{
	if (event->ops)
		return gn_event_evaluate_timed(event, count, (double)enabled_ns / 1e9, value);
	*value = 0;
	for (int i = 0; i < event->n; i++)
		*value += (double)event->factor[i] * count[i];
	return 0;
}

static struct sum sum_of(const struct gn_event_set *set, const struct gn_member *member)
{
	const struct gn_event *event = member->event;
	struct sum sum = {.count = native_of(set, member, 0)->count};
	double bare[GN_NATIVES_MAX], scaled[GN_NATIVES_MAX], raw = 0;

	for (int i = 0; i < event->n; i++) {
		const struct gn_count *count = &native_of(set, member, i)->count;

		sum.is_missing |= is_missing(set, native_of(set, member, i));
		sum.is_scaled |= was_scaled(count);
		bare[i] = (double)count->value;
		scaled[i] = was_missed(count) ? 0 : (double)count->value * scale_of(count);
		/* The scale shown is that of the native event that ran least. */
		if (count->enabled > sum.count.enabled)
			sum.count.enabled = count->enabled;
		if (count->running < sum.count.running)
			sum.count.running = count->running;
	}
	if (!event->ops) {
		sum.raw = add_up(set, member);
	} else {
		sum.is_missing |= combine(event, bare, sum.count.enabled, &raw) < 0;
		sum.raw = rounded(raw);
	}
	if (!sum.is_missing && (event->ops || sum.is_scaled))
		sum.is_missing = combine(event, scaled, sum.count.enabled, &sum.value) < 0;
	else
		sum.value = (double)sum.raw;
	return sum;
}

/* As an integer: exact where nothing was scaled and no formula divides. */
static int64_t count_of(const struct gn_event_set *set, const struct gn_member *member)
{
	const struct gn_event *event = member->event;
	struct sum sum;

	if (event->n == 1 && !event->ops && event->factor[0] == 1) {
		const struct gn_native *native = native_of(set, member, 0);
		const struct gn_count *count = &native->count;

		if (is_missing(set, native))
			return GN_NO_COUNT;
		return was_scaled(count) ? rounded((double)count->value * scale_of(count))
					 : (int64_t)count->value;
	}
	sum = sum_of(set, member);
	if (sum.is_missing)
		return GN_NO_COUNT;
	return event->ops || sum.is_scaled ? rounded(sum.value) : sum.raw;
}

static void give_counts(const struct gn_event_set *set, int64_t *counts)
{
	for (int m = 0; m < set->n_members; m++)
		counts[m] = count_of(set, &set->member[m]);
}

static int domain_of(const struct gn_native *native, const struct gn_event *event)
{
	const uint32_t exclude = native->spec.exclude;

	if (event->flags & GN_EVENT_EVERY_MODE)
		return GN_DOMAIN_ALL;
	return (exclude & GN_EXCLUDE_USER ? 0 : GN_DOMAIN_USER) |
	       (exclude & GN_EXCLUDE_KERNEL ? 0 : GN_DOMAIN_KERNEL) |
	       (exclude & GN_EXCLUDE_HYPERVISOR ? 0 : GN_DOMAIN_HYPERVISOR);
}

static unsigned int flags_of(const struct gn_event_set *set, const struct gn_member *member,
			     const struct sum *sum)
{
	const struct gn_event *event = member->event;
	unsigned int flags = 0;

	flags |= sum->is_missing ? GN_VALUE_MISSING : 0;
	flags |= event->n > 1 || event->ops ? GN_VALUE_DERIVED : 0;
	flags |= !sum->is_missing && sum->value < 0 ? GN_VALUE_NEGATIVE : 0;
	for (int i = 0; i < event->n; i++) {
		const struct gn_native *native = native_of(set, member, i);

		flags |= native->spec.exclude != native->asked ? GN_VALUE_NARROWED : 0;
		flags |= event->flags & GN_EVENT_KERNEL_ONLY &&
					 native->spec.exclude & GN_EXCLUDE_KERNEL
				 ? GN_VALUE_KERNEL_ONLY
				 : 0;
		flags |= set->takes_turns && was_scaled(&native->count) &&
					 native->count.running / SLICES_ENOUGH <
						 set->options.slice_ns
				 ? GN_VALUE_SHORT
				 : 0;
	}
	return flags;
}

static struct gn_value value_of(const struct gn_event_set *set, const struct gn_member *member)
{
	const struct gn_event *event = member->event;
	const struct sum sum = sum_of(set, member);
	const int is_scale_missing =
		was_missed(&sum.count) || (sum.is_missing && !sum.count.enabled);

	return (struct gn_value){
		.raw = sum.raw,
		.enabled_ns = sum.count.enabled,
		.running_ns = sum.count.running,
		.scale = is_scale_missing ? NAN : scale_of(&sum.count),
		.value = sum.is_missing ? NAN : sum.value * event->scale,
		.unit = event->unit,
		.domain = domain_of(native_of(set, member, 0), event),
		.how = sum.is_scaled ? GN_HOW_SCALED : GN_HOW_COUNTED,
		.flags = flags_of(set, member, &sum),
	};
}

/* --- counting --------------------------------------------------------------------------------- */

/* Whenever `base` of a running set changes. */
static void set_quick_zero(struct gn_event_set *set)
{
	for (int i = 0; set->quick_fd >= 0 && i < set->n_members; i++)
		set->quick_zero[i] = set->plan.native[i].base.value;
}

struct plain_reading {
	struct gn_reading head;
	uint64_t value[GN_EVENTS_MAX];
};

/* The one group of a plain set. */
static const struct gn_group *group_of(const struct gn_event_set *set)
{
	return set->plan.target[0].group[0];
}

static int read_plain(const struct gn_event_set *set, struct plain_reading *reading)
{
	const struct gn_group *group = group_of(set);

	return gn_plan_read_group(group, !group->mapped || gn_set_is_own(set), &reading->head);
}

static void begin_plain_at_zero(struct gn_event_set *set, const struct plain_reading *reading)
{
	for (int i = 0; i < set->plan.n_natives; i++)
		set->plan.native[i].base = (struct gn_count){
			reading->value[i], reading->head.enabled, reading->head.running};
	set_quick_zero(set);
}

static int read_all(struct gn_event_set *set)
{
	const int error = gn_plan_read(&set->plan, gn_set_is_own(set));

	if (!error)
		take_counts(set);
	return error;
}

/* The run has another zero than its overflows. */
static void move_overflow_zero(struct gn_event_set *set)
{
	if (set->overflow)
		set->overflow->was_reset = 1;
}

static int no_overflow(const struct gn_event_set *set, int error)
{
	if (error == -EAGAIN)
		return gn_fail(GN_ESYS,
			       "event set %d: overflow takes a real-time signal, and the program "
			       "has handlers for all of them; leave one free",
			       set->handle);
	if (error == -EPERM)
		return gn_fail(GN_EPERM,
			       "event set %d: the ring of an overflow takes more locked memory "
			       "than is allowed; raise kernel.perf_event_mlock_kb or `ulimit -l`",
			       set->handle);
	return kernel_error(set, error);
}

static int another_runs(const struct gn_event_set *set, uint64_t components)
{
	struct gn_component_info info = {.size = sizeof(info)};

	if (gn_component_describe(__builtin_ctzll(components), &info))
		info.name[0] = '\0';
	return gn_fail(
		GN_EISRUN,
		"event set %d: another set with component '%s' counts the same thread or CPU, or "
		"all around it; stop that one first, or put all events into one set",
		set->handle, info.name);
}

static void end_running(struct gn_event_set *set)
{
	set->is_running = 0;
	set->quick_fd = -1;
	gn_place_release(set->place, set->components);
}

static int is_inherited(const struct gn_event_set *set)
{
	return set->plan.flags & (GN_INHERIT | GN_INHERIT_THREADS);
}

/* Whether what the set was opened on has ended. The calling thread's process has not. */
static int has_ended(const struct gn_event_set *set)
{
	if (set->options.pid == 0 && set->options.granularity != GN_GRANULARITY_THREAD)
		return 0;
	return set->is_attached ? gn_plan_is_over(&set->plan) : set->place->has_ended;
}

int gn_set_start(gn_set handle)
{
	struct gn_event_set *set = gn_set_use(handle);
	uint64_t taken;
	int error;

	if (!set)
		return GN_ENOEVST;
	if (set->is_running)
		return gn_fail(GN_EISRUN, "event set %d: it is running; stop it first", handle);
	if (!set->n_members)
		return gn_fail(set->had_events ? GN_EINVAL : GN_ENOCMP,
			       "event set %d: it is empty; add events first (gn_set_add)", handle);
	set->is_over = has_ended(set);
	if (set->is_over && !is_inherited(set))
		return is_over(set);
	taken = gn_place_claim(set->place, set->components);
	if (taken)
		return another_runs(set, taken);
	error = set->overflow ? gn_overflow_start(set->overflow) : 0;
	if (error) {
		end_running(set);
		return no_overflow(set, error);
	}
	if (set->is_plain)
		error = ioctl(group_of(set)->fd[0], PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
	else
		error = gn_plan_start(&set->plan, set->rotates, set->options.slice_ns);
	set->is_running = !error;
	if (set->is_plain && !group_of(set)->mapped && set->n_members <= GN_QUICK_MAX)
		set->quick_fd = group_of(set)->fd[0];
	set_quick_zero(set);
	/* Only a read shows that pinned events did not get their counters. */
	if (!error && set->plan.flags & GN_PINNED) {
		error = gn_plan_read(&set->plan, gn_set_is_own(set));
		if (error)
			gn_plan_stop(&set->plan, set->rotates);
	}
	if (error) {
		if (set->overflow)
			gn_overflow_pause(set->overflow);
		end_running(set);
		return kernel_error(set, error);
	}
	set->has_started = 1;
	for (int i = 0; set->plan.has_new && i < set->plan.n_natives; i++)
		set->plan.native[i].is_new = 0;
	set->plan.has_new = 0;
	return GN_OK;
}

static int stop_plain(struct gn_event_set *set, int64_t *counts)
{
	struct plain_reading reading;
	int error = ioctl(group_of(set)->fd[0], PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;

	if (!error)
		error = read_plain(set, &reading);
	for (int i = 0; !error && i < set->n_members; i++) {
		struct gn_native *native = &set->plan.native[i];

		native->now = (struct gn_count){reading.value[i], reading.head.enabled,
						reading.head.running};
		native->count = since(native);
		native->base = native->now;
		if (counts)
			counts[i] = was_scaled(&native->count) ? count_of(set, &set->member[i])
							       : (int64_t)native->count.value;
	}
	return error;
}

int gn_set_stop(gn_set handle, int64_t *counts)
{
	struct gn_event_set *set = gn_set_use(handle);
	int error;

	if (!set)
		return GN_ENOEVST;
	if (!set->is_running)
		return not_running(set);
	if (set->is_plain) {
		error = stop_plain(set, counts);
	} else {
		const int stopped = gn_plan_stop(&set->plan, set->rotates);

		error = read_all(set);
		if (!error) {
			begin_at_zero(set);
			if (counts)
				give_counts(set, counts);
			error = stopped;
		}
	}
	if (set->overflow) {
		gn_overflow_pause(set->overflow);
		gn_overflow_stop(set->overflow);
	}
	end_running(set);
	return error ? kernel_error(set, error) : GN_OK;
}

int gn_set_peek(struct gn_event_set *set, struct gn_count *scratch, int64_t *counts)
{
	const int n = set->plan.n_natives;
	struct gn_native *native = set->plan.native;
	int error;

	for (int i = 0; i < n; i++) {
		scratch[2 * i] = native[i].now;
		scratch[2 * i + 1] = native[i].count;
	}
	error = read_all(set);
	if (!error)
		give_counts(set, counts);
	for (int i = 0; i < n; i++) {
		native[i].now = scratch[2 * i];
		native[i].count = scratch[2 * i + 1];
	}
	return error;
}

static void give_plain(struct gn_event_set *set, const struct plain_reading *reading,
		       int64_t *counts)
{
	for (int i = 0; i < set->n_members; i++)
		set->plan.native[i].now = (struct gn_count){
			reading->value[i], reading->head.enabled, reading->head.running};
	take_counts(set);
	give_counts(set, counts);
}

/* The same, of a few events that counted all the time; 0 if it cannot be done so. */
static inline int read_quickly(const struct gn_event_set *set, int64_t *counts)
{
	const int n = set->n_members;
	const ssize_t size = (ssize_t)gn_reading_size(n);
	const struct gn_count *base = &set->plan.native[0].base;
	struct {
		struct gn_reading head;
		uint64_t value[GN_QUICK_MAX];
	} reading;

	if (gn_read(set->quick_fd, &reading, (size_t)size) != size ||
	    reading.head.enabled - base->enabled != reading.head.running - base->running)
		return 0;
	for (int i = 0; i < n; i++)
		counts[i] = (int64_t)(reading.value[i] - set->quick_zero[i]);
	return 1;
}

int gn_set_read(gn_set handle, int64_t *counts)
{
	struct gn_event_set *set = gn_set_use(handle);
	struct plain_reading reading;
	int error = 0;

	if (!set)
		return GN_ENOEVST;
	if (!counts && set->n_members)
		return no_room(set);
	if (set->quick_fd >= 0 && read_quickly(set, counts))
		return GN_OK;
	if (!set->has_started)
		return never_started(set);
	if (set->is_running && set->is_plain) {
		error = read_plain(set, &reading);
		if (!error)
			give_plain(set, &reading, counts);
		return error ? kernel_error(set, error) : GN_OK;
	}
	if (set->is_running)
		error = read_all(set);
	if (error)
		return kernel_error(set, error);
	give_counts(set, counts);
	return GN_OK;
}

int gn_set_read_at(gn_set handle, int64_t *counts, int64_t *ns)
{
	const int error = gn_set_read(handle, counts);

	if (!error && ns)
		*ns = gn_real_ns();
	return error;
}

int gn_set_values(gn_set handle, struct gn_value *values)
{
	struct gn_event_set *set = gn_set_use(handle);
	int error = 0;

	if (!set)
		return GN_ENOEVST;
	if (!values && set->n_members)
		return no_room(set);
	if (!set->has_started)
		return never_started(set);
	if (set->is_running)
		error = read_all(set);
	if (error)
		return kernel_error(set, error);
	for (int m = 0; m < set->n_members; m++)
		values[m] = value_of(set, &set->member[m]);
	return GN_OK;
}

static int64_t added(int64_t to, int64_t count)
{
	int64_t sum;

	if (to == GN_NO_COUNT || count == GN_NO_COUNT)
		return GN_NO_COUNT;
	if (__builtin_add_overflow(to, count, &sum))
		return count > 0 ? INT64_MAX : INT64_MIN + 1;
	return sum;
}

static int accumulate_plain(struct gn_event_set *set, int64_t *counts)
{
	struct plain_reading reading;
	const int error = read_plain(set, &reading);

	if (error)
		return error;
	for (int i = 0; i < set->n_members; i++) {
		struct gn_native *native = &set->plan.native[i];

		native->now = (struct gn_count){reading.value[i], reading.head.enabled,
						reading.head.running};
		native->count = since(native);
		counts[i] =
			added(counts[i], was_scaled(&native->count) ? count_of(set, &set->member[i])
								    : (int64_t)native->count.value);
		native->base = native->now;
	}
	set_quick_zero(set);
	return 0;
}

int gn_set_accumulate(gn_set handle, int64_t *counts)
{
	struct gn_event_set *set = gn_set_use(handle);
	int error = 0;

	if (!set)
		return GN_ENOEVST;
	if (!counts && set->n_members)
		return no_room(set);
	if (!set->has_started)
		return never_started(set);
	move_overflow_zero(set);
	if (set->is_running && set->is_plain) {
		error = accumulate_plain(set, counts);
		return error ? kernel_error(set, error) : GN_OK;
	}
	if (set->is_running)
		error = read_all(set);
	if (error)
		return kernel_error(set, error);
	for (int m = 0; m < set->n_members; m++)
		counts[m] = added(counts[m], count_of(set, &set->member[m]));
	if (set->is_running)
		begin_at_zero(set);
	else
		forget_counts(set);
	return GN_OK;
}

/*
 * One system call: a read whose counts are the new zero, so that times begin anew too. Of a single
 * event that the kernel counts by itself, and so always, the ioctl is quicker.
 */
static int reset_running(struct gn_event_set *set)
{
	struct plain_reading reading;
	int error;

	if (set->is_plain && set->n_members == 1 && !set->plan.native[0].pmu) {
		if (ioctl(group_of(set)->fd[0], PERF_EVENT_IOC_RESET, 0))
			return -errno;
		set->plan.native[0].base.value = 0;
		set_quick_zero(set);
		return 0;
	}
	if (set->is_plain) {
		error = read_plain(set, &reading);
		if (!error)
			begin_plain_at_zero(set, &reading);
		return error;
	}
	error = gn_plan_read(&set->plan, gn_set_is_own(set));
	if (!error)
		begin_at_zero(set);
	return error;
}

int gn_set_reset(gn_set handle)
{
	struct gn_event_set *set = gn_set_use(handle);
	int error = 0;

	if (!set)
		return GN_ENOEVST;
	move_overflow_zero(set);
	if (set->is_running)
		error = reset_running(set);
	else
		forget_counts(set);
	return error ? kernel_error(set, error) : GN_OK;
}

int gn_set_write(gn_set handle, const int64_t *counts)
{
	const struct gn_event_set *set = gn_set_use(handle);

	(void)counts;
	if (!set)
		return GN_ENOEVST;
	return gn_fail(GN_ENOSUPP,
		       "event set %d: counters of the kernel cannot be set to a number; add your "
		       "numbers to what is read, or use gn_set_accumulate",
		       handle);
}

int gn_set_turns(gn_set handle, uint64_t *turns)
{
	const struct gn_event_set *set = gn_set_use(handle);

	if (!set)
		return GN_ENOEVST;
	if (!turns)
		return gn_fail(GN_EINVAL, "gn_set_turns: no place for the number; give one");
	*turns = set->rotates ? gn_rotation_turns(set->plan.rotation) : 0;
	return GN_OK;
}
