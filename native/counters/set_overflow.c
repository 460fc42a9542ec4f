/* Event sets: overflow and profiles. Source of the semantics: PAPI_overflow(3), PAPI_sprofil(3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event_pmu.h"
#include "overflow.h"
#include "query.h"

#define HANDLER_FLAGS (GN_OVERFLOW_SOFTWARE | GN_OVERFLOW_DATA | GN_OVERFLOW_RANDOM)
#define PROFIL_FLAGS                                                                               \
	(HANDLER_FLAGS | GN_PROFIL_WEIGHTED | GN_PROFIL_BUCKET_16 | GN_PROFIL_BUCKET_32 |          \
	 GN_PROFIL_BUCKET_64)

/* What perf's modifiers may be beside p. */
#define LETTERS "ukhGHIp"
#define PRECISE_MAX 3

int gn_take_precise(const char *name, char *bare, size_t size)
{
	size_t begin = strlen(name);
	size_t length;
	int precise = 0;

	while (begin && strchr(LETTERS, name[begin - 1]))
		begin--;
	length = begin;
	if (strlen(name) >= size)
		return 0;
	strcpy(bare, name);
	if (!begin || (name[begin - 1] != ':' && name[begin - 1] != '/'))
		return 0;
	for (const char *letter = name + begin; *letter; letter++) {
		precise += *letter == 'p';
		if (*letter != 'p')
			bare[length++] = *letter;
	}
	if (length == begin && precise && name[begin - 1] == ':')
		length--;
	bare[length] = '\0';
	return precise;
}

/* --- what the machine can do ------------------------------------------------------------------ */

#define TRIAL_PERIOD 2000
#define TRIAL_NS 2000000

static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether a group of one overflows while the thread works; 1 where it was not on a counter. */
static int does_interrupt(struct gn_group *group)
{
	const uint64_t end = cpu_time_ns() + TRIAL_NS;
	struct gn_count count = {0};
	struct gn_ring ring;
	int is_told = 0;

	if (gn_ring_map(&ring, group->fd[0], (uint64_t)sysconf(_SC_PAGESIZE)))
		return 1;
	gn_group_enable(group);
	while (!is_told && cpu_time_ns() < end) {
		for (volatile int i = 0; i < TRIAL_PERIOD; i++)
			;
		gn_ring_look(&ring);
		is_told = ring.head != 0;
	}
	gn_group_disable(group);
	if (!is_told && (gn_group_read_each(group, &count) || !count.running))
		is_told = 1;
	gn_ring_unmap(&ring);
	return is_told;
}

/*
 * How the event of a set of one overflows. A kernel can take a period for a counter that never
 * interrupts, and that then does not even count (POWER's, as QEMU 7.2 emulates it): that of a PMU
 * is tried.
 */
static enum gn_overflow_kind try_overflow(const struct gn_event_set *set)
{
	struct gn_event_spec spec = set->plan.native[set->at[0]].spec;
	const int is_hardware = (set->member[0].event->flags & GN_EVENT_HARDWARE) != 0;
	struct gn_group group;
	int is_told = 1;

	spec.period = is_hardware ? TRIAL_PERIOD : UINT64_C(1) << 40;
	spec.sample_type = PERF_SAMPLE_IP;
	gn_group_begin(&group, 0);
	if (gn_group_add(&group, &spec, 0, -1))
		return GN_OVERFLOW_SLOW;
	if (is_hardware)
		is_told = does_interrupt(&group);
	gn_group_close(&group);
	return is_told ? GN_OVERFLOW_FAST : GN_OVERFLOW_SLOW;
}

static int find_overflow(int component)
{
	int kind = GN_OVERFLOW_IMPOSSIBLE;
	gn_set set;

	if (gn_set_create(&set, NULL))
		return kind;
	if (!gn_set_add(set, gn_component_trial(component)))
		kind = (int)try_overflow(gn_set_find(set));
	gn_set_clear(set);
	gn_set_destroy(&set);
	return kind;
}

/* Tried once a process: the answer and 1. */
static _Atomic int overflow_of[GN_COMPONENTS];

int gn_component_overflow(int component)
{
	struct gn_component_info info = {.size = sizeof(info)};
	const int error = gn_component_describe(component, &info);
	int answer;

	if (error)
		return error;
	answer = atomic_load(&overflow_of[component]);
	if (!answer) {
		answer = find_overflow(component) + 1;
		atomic_store(&overflow_of[component], answer);
	}
	return answer - 1;
}

/* --- what is refused -------------------------------------------------------------------------- */

static int refuse_set(const struct gn_event_set *set)
{
	const struct gn_options *options = &set->options;

	if (options->multiplex)
		return gn_fail(GN_EINVAL,
			       "event set %d: its events may take turns, so that some would not "
			       "overflow; make a set without multiplexing",
			       set->handle);
	if (set->is_attached || options->inherit || options->granularity != GN_GRANULARITY_THREAD)
		return gn_fail(GN_ENOSUPP,
			       "event set %d: a handler runs in the thread whose event overflows, "
			       "and the set counts another one, or more; make a set in that "
			       "thread, or sample with `gnomon record`",
			       set->handle);
	return GN_OK;
}

static int refuse_flags(const char *name, int64_t threshold, int flags, int known)
{
	if (threshold < 0)
		return gn_fail(GN_EINVAL,
			       "event '%s': a threshold of %lld; give a positive one, or 0 to end "
			       "its overflow",
			       name, (long long)threshold);
	if (flags & ~known)
		return gn_fail(GN_EINVAL,
			       "event '%s': flags 0x%x have no meaning here; see "
			       "enum gn_overflow_flags",
			       name, flags & ~known);
	if (flags & GN_OVERFLOW_SOFTWARE && flags & GN_OVERFLOW_DATA)
		return gn_fail(GN_EINVAL,
			       "event '%s': a timer sees no address of data; leave out one of "
			       "GN_OVERFLOW_SOFTWARE and GN_OVERFLOW_DATA",
			       name);
	return GN_OK;
}

/* The kernel counts the event, but nothing tells when it has passed a threshold. */
static int refuse_period(const struct gn_event *event)
{
	return gn_fail(GN_ECMP,
		       "event '%s': its counter cannot interrupt here (the kernel refuses a "
		       "period, or no interrupt came in a trial); set GN_OVERFLOW_SOFTWARE",
		       event->name);
}

static int refuse_event(const struct gn_event_set *set, const struct gn_event *event, int flags,
			int precise)
{
	const int is_timed = flags & GN_OVERFLOW_SOFTWARE;

	if (precise > PRECISE_MAX || (precise && is_timed))
		return gn_fail(GN_EINVAL,
			       "event '%s': %s; give p once to three times, without "
			       "GN_OVERFLOW_SOFTWARE",
			       event->name,
			       is_timed ? "a timer attributes nothing precisely"
					: "more than three letters p");
	if (!is_timed && (event->n != 1 || event->ops || event->factor[0] != 1))
		return gn_fail(GN_EINVAL,
			       "event '%s': it is derived from several counts, none of which "
			       "passes the threshold; set GN_OVERFLOW_SOFTWARE, or let one of its "
			       "native events overflow (`gnomon presets %s`)",
			       event->name, event->name);
	if (!is_timed && event->component == GN_COMPONENT_TSC)
		return gn_fail(GN_ECMP,
			       "event '%s': counters of component tsc cannot interrupt; set "
			       "GN_OVERFLOW_SOFTWARE",
			       event->name);
	if (!is_timed && event->flags & GN_EVENT_HARDWARE &&
	    gn_component_overflow(event->component) == GN_OVERFLOW_SLOW)
		return refuse_period(event);
	for (int w = 0; set->overflow && w < set->overflow->n; w++) {
		const struct gn_watch *other = set->overflow->watch[w];

		if (other->event != event && (other->flags & GN_OVERFLOW_SOFTWARE) != is_timed)
			return gn_fail(GN_ECNFLCT,
				       "event '%s': event '%s' of the set overflows %s "
				       "GN_OVERFLOW_SOFTWARE; do the same here, or take two sets",
				       event->name, other->event->name,
				       is_timed ? "without" : "with");
	}
	return GN_OK;
}

static int no_overflow(const struct gn_event *event, int error)
{
	if (error == -EPERM)
		return gn_fail(GN_EPERM,
			       "event '%s': its ring takes more locked memory than is allowed; "
			       "raise kernel.perf_event_mlock_kb or `ulimit -l`",
			       event->name);
	if (error == -EAGAIN)
		return gn_fail(GN_ESYS,
			       "event '%s': overflow takes a real-time signal, and the program has "
			       "handlers for all of them; leave one free",
			       event->name);
	if (error == -ENOMEM)
		return gn_set_no_memory();
	return gn_fail(GN_ESYS,
		       "event '%s': no signal can be had for its overflow (%s); see `ulimit -n`",
		       event->name, strerror(-error));
}

/* --- setting and ending ----------------------------------------------------------------------- */

static struct gn_overflow_state *state_of(struct gn_event_set *set)
{
	if (!set->overflow) {
		set->overflow = calloc(1, sizeof(*set->overflow));
		if (!set->overflow)
			return NULL;
		set->overflow->set = set;
		set->overflow->tick_fd = -1;
		set->overflow->peek = gn_set_peek;
	}
	return set->overflow;
}

/* Opens the set anew with the watch in its place; else that is not the set's. */
static int replace(struct gn_event_set *set, const struct gn_event *event, struct gn_watch *watch)
{
	struct gn_overflow_state *state = set->overflow;
	struct gn_watch *before, *after;
	int error;

	/* The one that goes must hear of nothing, whatever becomes of its descriptor. */
	gn_overflow_disarm(set);
	error = gn_overflow_put(state, event, watch, &before) ? gn_set_no_memory() : GN_OK;
	if (!error)
		error = gn_set_reopen(set, &set->options);
	if (error) {
		gn_overflow_put(state, event, before, &after);
		gn_overflow_arm(set);
		return error == GN_ENOSUPP || error == GN_ESYS ? refuse_period(event) : error;
	}
	gn_watch_free(before);
	gn_set_check(set);
	error = state->error;
	if (!error || !watch)
		return GN_OK;
	gn_overflow_disarm(set);
	gn_overflow_put(state, event, NULL, &after);
	gn_set_reopen(set, &set->options);
	gn_set_check(set);
	return no_overflow(event, error);
}

/* The most precise that the PMU gives, and no more than asked for. */
static int replace_precisely(struct gn_event_set *set, const struct gn_event *event,
			     struct gn_watch *watch)
{
	int most = 0, error;

	if (watch->precise_wanted)
		most = gn_pmu_precise(gn_pmu_of(&event->spec[0]));
	watch->precise = watch->precise_wanted < most ? watch->precise_wanted : most;
	for (; watch->precise > 0; watch->precise--) {
		error = replace(set, event, watch);
		if (error != GN_ECMP && error != GN_ECNFLCT)
			return error;
	}
	return replace(set, event, watch);
}

/* An overflow as it is wanted, in a set that stands. handler NULL: the histogram, which is kept. */
static int begin(struct gn_event_set *set, int index, int precise, int64_t threshold, int flags,
		 const struct gn_watch *like)
{
	const struct gn_event *event = set->member[index].event;
	struct gn_watch *watch;
	int error = refuse_set(set);

	if (!error)
		error = refuse_event(set, event, flags, precise);
	if (error)
		return error;
	watch = state_of(set) ? calloc(1, sizeof(*watch)) : NULL;
	if (!watch)
		return gn_set_no_memory();
	watch->state = set->overflow;
	watch->event = event;
	watch->index = index;
	watch->threshold = threshold;
	watch->flags = flags;
	watch->precise_wanted = precise;
	watch->handler = like->handler;
	watch->data = like->data;
	watch->histogram = like->histogram;
	watch->asked = set->plan.native[set->at[set->member[index].first]].asked;
	watch->fd = -1;
	watch->lost = -1;
	watch->random = (uint64_t)gn_real_ns() | 1;
	error = replace_precisely(set, event, watch);
	if (error) {
		/* The caller's still. */
		memset(&watch->histogram, 0, sizeof(watch->histogram));
		gn_watch_free(watch);
	}
	return error;
}

static int end(struct gn_event_set *set, int index)
{
	const struct gn_event *event = set->member[index].event;

	return gn_overflow_watch(set, event) ? replace(set, event, NULL) : GN_OK;
}

/* The event of a set that stands; *precise: what its name asks for. */
static int find(gn_set handle, const char *name, struct gn_event_set **set, int *precise)
{
	char bare[GN_NAME_MAX] = "";
	int error;

	*set = gn_set_use_stopped(handle, &error);
	if (!*set)
		return error;
	if (!name)
		return gn_fail(GN_EINVAL, "overflow: no name of an event; give one of the set's");
	*precise = gn_take_precise(name, bare, sizeof(bare));
	return gn_set_index(*set, *precise ? bare : name);
}

int gn_set_overflow(gn_set handle, const char *name, int64_t threshold, int flags,
		    gn_overflow_handler *handler, void *data)
{
	const struct gn_watch like = {.handler = handler, .data = data};
	struct gn_event_set *set;
	int precise = 0;
	const int index = find(handle, name, &set, &precise);
	int error = index < 0 ? index : refuse_flags(name, threshold, flags, HANDLER_FLAGS);

	if (error)
		return error;
	if (!threshold)
		return end(set, index);
	if (!handler)
		return gn_fail(GN_EINVAL, "event '%s': no handler for its overflows; give one",
			       name);
	return begin(set, index, precise, threshold, flags, &like);
}

int gn_set_sprofil(gn_set handle, const char *name, const struct gn_profil *regions, int n,
		   int64_t threshold, int flags)
{
	struct gn_watch like = {0};
	struct gn_event_set *set;
	int precise = 0;
	const int index = find(handle, name, &set, &precise);
	int error = index < 0 ? index : refuse_flags(name, threshold, flags, PROFIL_FLAGS);

	if (error)
		return error;
	if (!threshold)
		return end(set, index);
	error = gn_histogram_begin(&like.histogram, regions, n, flags);
	if (!error)
		error = begin(set, index, precise, threshold, flags, &like);
	if (error)
		gn_histogram_end(&like.histogram);
	return error;
}

int gn_set_profil(gn_set handle, const char *name, void *buckets, size_t size, uint64_t offset,
		  uint32_t scale, int64_t threshold, int flags)
{
	const struct gn_profil region = {buckets, size, offset, scale};

	return gn_set_sprofil(handle, name, &region, 1, threshold, flags);
}

/* --- looking ---------------------------------------------------------------------------------- */

/* The watch of an event; NULL, and *error explained. */
static struct gn_watch *find_watch(gn_set handle, const char *name, struct gn_event_set **set,
				   int *error)
{
	char bare[GN_NAME_MAX] = "";
	struct gn_watch *watch;
	int index;

	*set = gn_set_use(handle);
	*error = GN_ENOEVST;
	if (!*set)
		return NULL;
	*error = GN_EINVAL;
	if (!name) {
		gn_fail(GN_EINVAL, "overflow: no name of an event; give one of the set's");
		return NULL;
	}
	index = gn_set_index(*set, gn_take_precise(name, bare, sizeof(bare)) ? bare : name);
	*error = index;
	if (index < 0)
		return NULL;
	watch = gn_overflow_watch(*set, (*set)->member[index].event);
	*error = watch ? GN_OK
		       : gn_fail(GN_ENOEVNT,
				 "event '%s': nothing waits for its overflow; set that first "
				 "(gn_set_overflow, gn_set_profil)",
				 name);
	return watch;
}

int gn_set_overflow_info(gn_set handle, const char *name, struct gn_overflow_info *info)
{
	struct gn_event_set *set;
	struct gn_watch *watch;
	int error;

	if (!info || info->size != sizeof(*info))
		return gn_fail(GN_EINVAL,
			       "gn_overflow_info.size: this library's has %zu bytes; set it to "
			       "sizeof(struct gn_overflow_info)",
			       sizeof(*info));
	watch = find_watch(handle, name, &set, &error);
	if (!watch)
		return error;
	gn_watch_drain(watch, NULL);
	*info = (struct gn_overflow_info){
		.size = sizeof(*info),
		.threshold = watch->threshold,
		.flags = watch->flags,
		.kind = watch->flags & GN_OVERFLOW_SOFTWARE ? GN_OVERFLOW_SLOW : GN_OVERFLOW_FAST,
		.precise = watch->precise,
		.precise_wanted = watch->precise_wanted,
		.signal = gn_overflow_signal(),
		.overflows = watch->overflows,
		.lost = watch->lost,
		.outside = watch->histogram.outside,
	};
	return GN_OK;
}

int gn_set_estimate(gn_set handle, const char *name, struct gn_estimate *estimate)
{
	struct gn_event_set *set;
	const struct gn_watch *watch;
	const struct gn_count *count;
	double weight;
	int error;

	if (!estimate)
		return gn_fail(GN_EINVAL, "estimate: no place for it; give one");
	watch = find_watch(handle, name, &set, &error);
	if (!watch)
		return error;
	if (set->is_running)
		return gn_set_refuse_running(set);
	if (!set->has_started)
		return gn_fail(GN_ENOTRUN,
			       "event set %d: it was never started, so nothing overflowed; start "
			       "it first (gn_set_start)",
			       handle);
	if (watch->lost < 0)
		return gn_fail(GN_EINVAL,
			       "event '%s': no bound is known for the total of its samples (random "
			       "thresholds, a timer's, or counts that began at zero within the "
			       "run); take a fixed threshold, and reset outside the run",
			       name);
	count = &set->plan.native[set->at[set->member[watch->index].first]].count;
	weight = (double)watch->threshold;
	/* For a part of the time others had the counter. */
	if (count->running && count->running < count->enabled)
		weight *= (double)count->enabled / (double)count->running;
	*estimate = (struct gn_estimate){
		.value = ((double)watch->overflows + 0.5) * weight,
		.error = ((double)watch->lost + 0.5) * weight,
		.weight = weight,
		.samples = watch->overflows,
	};
	return GN_OK;
}
