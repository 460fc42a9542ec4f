/*
 * The counter is converted to nanoseconds by a curve of straight pieces. About once a second the
 * thread that notices replaces the curve by one that starts on the old one and slews towards the
 * vDSO's time, so that errors of calibration neither add up nor show as jumps.
 *
 * Readers take a curve without waiting, by a sequence lock ("phase"). A new curve begins a little
 * ahead, at start_ns, up to which it gives the same times as the old one. Time cannot run back if
 * no reader takes a time beyond start_ns from the old curve. But a writer can lose the CPU at any
 * point, so it announces the switch first, and settles it only if the old curve had not reached
 * start_ns by then and no reader has withdrawn the switch since, which is what a reader does that
 * gets beyond start_ns on the old curve. Nobody ever depends on a writer that does not come back.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "at_fork.h"
#include "gnomon/clock.h"
#include "tick_rate.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define NS_PER_S 1000000000u
#define NS_PER_US 1000u

/* Rates are nanoseconds per tick times 2^48: exact to a nanosecond over days at any frequency. */
#define RATE_SHIFT 48

/* The first calibration; with bracketed reads good for a few parts per million. */
#define FIRST_NS (1000 * NS_PER_US)
#define FIRST_SPAN_NS (10000 * NS_PER_US)

/* How far ahead a new curve begins: many times what a refresh takes. */
#define MARGIN_NS (200 * NS_PER_US)

/* Between two anchors so far apart the noise of reading them is below a nanosecond a second. */
#define BASELINE_NS (8ull * NS_PER_S)

/* A longer bracket around a read of the vDSO was interrupted and tells nothing. */
#define BRACKET_MAX_NS (20 * NS_PER_US)

/* CPUs differ by less: a counter that is so far behind has been set back. */
#define SET_BACK_NS (10000 * NS_PER_US)

/* Within one span a curve that is any good stays closer to the vDSO's time than this. */
#define ASTRAY_NS (1000 * NS_PER_US)

/*
 * phase: bit 0 SWITCHING  a writer has announced curve (generation + 1)
 *        bit 1 ON_VDSO    no counter is in use: the vDSO's time, at least the curve's start_ns
 *        bits 2..63       generation; curves[generation & 1] is in force
 */
#define SWITCHING 1u
#define ON_VDSO 2u
#define GENERATION 4u

/*
 * before_ticks      start_ticks          + span             + 2 span
 * | before_rate     | slope: slews to     | rate: the        | rate could be far off by now:
 * | (0: the vDSO)   | the vDSO's time     | slewing is over  | the vDSO's time
 */
struct curve {
	_Alignas(64) _Atomic uint64_t start_ticks;
	_Atomic uint64_t span_ticks;
	_Atomic uint64_t start_ns;
	_Atomic uint64_t slope;
	_Atomic uint64_t rate;
	_Atomic uint64_t before_ticks;
	_Atomic uint64_t before_ns;
	_Atomic uint64_t before_rate;
};

/* The same moment on both clocks; width is the uncertainty. */
struct anchor {
	uint64_t ticks;
	uint64_t ns;
	uint64_t width_ticks;
};

static struct curve curves[2];
static _Atomic uint64_t phase = ON_VDSO;
static _Atomic uint64_t ticks_rate; /* of the counter as last measured; 0: there is none */

/* Held by the one thread that may draw a curve; what follows is its own. */
static _Atomic bool refreshing;
static struct anchor base, middle;

static inline uint64_t get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

static uint64_t posix_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t raw_ns(void)
{
	return posix_ns(CLOCK_MONOTONIC_RAW);
}

#if defined(__x86_64__)

#define COUNTER GN_CLOCK_TSC

static inline uint64_t read_counter(void)
{
	unsigned int cpu;

	/*
	 * Not rdtsc: it may run before loads that precede it, and so be older than a time that
	 * this thread has just been given by another one.
	 */
	return __rdtscp(&cpu);
}

/* The kernel strikes the counter off this list once it finds CPUs that disagree. */
static bool kernel_trusts_tsc(void)
{
	char names[256];
	ssize_t length;
	char *rest, *name;
	int fd;

	fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		  O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, names, sizeof(names) - 1);
	close(fd);
	if (length <= 0)
		return false;
	names[length] = '\0';
	for (name = strtok_r(names, " \n", &rest); name; name = strtok_r(NULL, " \n", &rest))
		if (!strcmp(name, "tsc"))
			return true;
	return false;
}

bool gn_clock_counter_is_usable(void)
{
	const unsigned int invariant = 1u << 8, rdtscp = 1u << 27;
	unsigned int eax, ebx, ecx, edx;
	int mode = 0;

	if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) || !(edx & invariant))
		return false;
	if (!__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) || !(edx & rdtscp))
		return false;
	if (!prctl(PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV)
		return false;
	return kernel_trusts_tsc();
}

#elif defined(__aarch64__)

#define COUNTER GN_CLOCK_CNTVCT

static inline uint64_t read_counter(void)
{
	uint64_t ticks;

	/* Without the barrier the counter may be read before loads that precede it. */
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
}

bool gn_clock_counter_is_usable(void)
{
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz != 0;
}

#else

#define COUNTER GN_CLOCK_VDSO

static inline uint64_t read_counter(void)
{
	return raw_ns();
}

bool gn_clock_counter_is_usable(void)
{
	return false;
}

#endif

#if defined(__SIZEOF_INT128__)
static inline uint64_t scale(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> RATE_SHIFT);
}

static uint64_t ratio(uint64_t ns, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ns << RATE_SHIFT) / ticks);
}
#else
/* Without such products there is no counter above either, so that no curve is ever in force. */
static inline uint64_t scale(uint64_t ticks, uint64_t rate)
{
	(void)rate;
	return ticks;
}

static uint64_t ratio(uint64_t ns, uint64_t ticks)
{
	(void)ns;
	(void)ticks;
	return (uint64_t)1 << RATE_SHIFT;
}
#endif

static uint64_t ticks_in(uint64_t ns, uint64_t rate)
{
	return ratio(ns, rate);
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

/* Where the slewing piece of a curve ends, and where the last piece does. */
static uint64_t slewed_ns(const struct curve *c)
{
	return get(&c->start_ns) + scale(get(&c->span_ticks), get(&c->slope));
}

static uint64_t final_ns(const struct curve *c)
{
	return slewed_ns(c) + scale(get(&c->span_ticks), get(&c->rate));
}

static bool was_set_back(const struct curve *c, uint64_t ticks)
{
	int64_t behind = (int64_t)(get(&c->before_ticks) - ticks);

	return behind > 0 && (uint64_t)behind > ticks_in(SET_BACK_NS, get(&c->rate));
}

static uint64_t curve_ns(const struct curve *c, uint64_t ticks)
{
	uint64_t span = get(&c->span_ticks), since = ticks - get(&c->start_ticks);

	if ((int64_t)since < 0) {
		int64_t old = (int64_t)(ticks - get(&c->before_ticks));
		uint64_t ns, rate = get(&c->before_rate);

		if (was_set_back(c, ticks))
			return raw_ns() + ASTRAY_NS;
		if (rate)
			ns = get(&c->before_ns) + scale(old > 0 ? (uint64_t)old : 0, rate);
		else
			ns = at_least(raw_ns(), get(&c->before_ns));
		return ns < get(&c->start_ns) ? ns : get(&c->start_ns);
	}
	if (since < span)
		return get(&c->start_ns) + scale(since, get(&c->slope));
	if (since < 2 * span)
		return slewed_ns(c) + scale(since - span, get(&c->rate));
	return at_least(raw_ns(), final_ns(c));
}

static struct curve *curve_of(uint64_t seen)
{
	return &curves[seen / GENERATION & 1];
}

static uint64_t time_in(uint64_t seen, uint64_t ticks)
{
	if (seen & ON_VDSO)
		return at_least(raw_ns(), get(&curve_of(seen)->start_ns));
	return curve_ns(curve_of(seen), ticks);
}

static struct anchor read_anchor(int attempts)
{
	struct anchor best = {.width_ticks = UINT64_MAX};

	while (attempts--) {
		uint64_t first = read_counter(), ns = raw_ns(), width = read_counter() - first;

		if (width < best.width_ticks)
			best = (struct anchor){first + width / 2, ns, width};
	}
	return best;
}

/* Puts the curve that was drawn last, or the vDSO, in force if that can be done in time. */
static void switch_from(uint64_t seen, uint64_t source)
{
	uint64_t start_ns = get(&curve_of(seen + GENERATION)->start_ns);
	uint64_t announced = seen | SWITCHING, settled = (seen & ~(uint64_t)ON_VDSO) | source;

	if (!atomic_compare_exchange_strong(&phase, &seen, announced))
		return;
	/* Half the margin is for readers that looked at the clock a little after the phase. */
	if (time_in(seen, read_counter()) + MARGIN_NS / 2 < start_ns)
		settled += GENERATION;
	else
		settled = seen + 2 * GENERATION;
	atomic_compare_exchange_strong(&phase, &announced, settled);
}

/* The curve that leads from `from_ns` at `now + MARGIN_NS` to the vDSO's time one span later. */
static void draw(struct curve *next, const struct anchor *now, uint64_t rate, uint64_t span_ns,
		 uint64_t from_ns)
{
	uint64_t margin = ticks_in(MARGIN_NS, rate), span = ticks_in(span_ns, rate);
	uint64_t true_ns = now->ns + scale(margin, rate);
	uint64_t slope;

	if (true_ns >= from_ns) {
		slope = rate + ratio(true_ns - from_ns, span);
	} else {
		slope = ratio(from_ns - true_ns, span);
		slope = slope < rate / 2 ? rate - slope : rate / 2;
	}
	set(&next->start_ticks, now->ticks + margin);
	set(&next->span_ticks, span);
	set(&next->start_ns, from_ns);
	set(&next->slope, slope);
	set(&next->rate, rate);
	set(&ticks_rate, rate);
}

/* What holds until the curve begins; a rate of 0 stands for the vDSO's time. */
static void draw_before(struct curve *next, uint64_t ticks, uint64_t ns, uint64_t rate)
{
	/* A reader that sees any of the new curve sees that the one drawn over is out of use. */
	atomic_thread_fence(memory_order_release);
	set(&next->before_ticks, ticks);
	set(&next->before_ns, ns);
	set(&next->before_rate, rate);
}

/* A suspended or moved machine: more than a thousandth is no error of calibration. */
static bool astray(const struct curve *c, const struct anchor *now)
{
	uint64_t since = now->ticks - get(&c->start_ticks) - get(&c->span_ticks);
	uint64_t expected = slewed_ns(c) + scale(since, get(&c->rate));
	uint64_t error = expected > now->ns ? expected - now->ns : now->ns - expected;

	return error > (expected - get(&c->start_ns)) / 1000 + BRACKET_MAX_NS;
}

static void redraw(const struct curve *c, uint64_t seen)
{
	struct curve *next = curve_of(seen + GENERATION);
	struct anchor now = read_anchor(4);
	uint64_t old_rate = get(&c->rate), span = get(&c->span_ticks), rate, from_ns;
	uint64_t span_ns = scale(span, old_rate), since = now.ticks - get(&c->start_ticks);
	uint64_t margin = ticks_in(MARGIN_NS, old_rate);
	bool back = was_set_back(c, now.ticks), late = since >= 2 * span;

	/* The curve must not come to its last piece while the switch is under way. */
	if (scale(now.width_ticks, old_rate) > BRACKET_MAX_NS ||
	    (!late && since + 2 * margin >= 2 * span))
		return;

	if (back || astray(c, &now)) {
		from_ns = now.ns + MARGIN_NS + ASTRAY_NS;
		if (!back)
			from_ns = late ? at_least(from_ns, final_ns(c))
				       : curve_ns(c, now.ticks + margin);
		draw_before(next, 0, 0, 0);
		set(&next->start_ns, from_ns);
		switch_from(seen, ON_VDSO);
		return;
	}

	rate = ratio(now.ns - base.ns, now.ticks - base.ticks);
	if (now.ns - middle.ns > BASELINE_NS) {
		base = middle;
		middle = now;
	}
	if (late) {
		draw_before(next, now.ticks, final_ns(c), 0);
		from_ns = at_least(now.ns + MARGIN_NS, final_ns(c));
	} else {
		draw_before(next, get(&c->start_ticks) + span, slewed_ns(c), old_rate);
		from_ns = curve_ns(c, now.ticks + ticks_in(MARGIN_NS, rate));
	}
	draw(next, &now, rate, span_ns < NS_PER_S / 10 ? span_ns * 10 : NS_PER_S, from_ns);
	switch_from(seen, 0);
}

static void refresh(uint64_t seen)
{
	if (atomic_exchange(&refreshing, true))
		return;
	if (atomic_load(&phase) == seen)
		redraw(curve_of(seen), seen);
	atomic_store(&refreshing, false);
}

static bool needs_refresh(const struct curve *c, uint64_t ticks)
{
	int64_t since = (int64_t)(ticks - get(&c->start_ticks));

	return since >= (int64_t)get(&c->span_ticks) || was_set_back(c, ticks);
}

static __attribute__((noinline)) uint64_t slow_ns(void)
{
	for (;;) {
		uint64_t seen = atomic_load_explicit(&phase, memory_order_acquire);
		const struct curve *c = curve_of(seen);
		uint64_t ticks = seen & ON_VDSO ? 0 : read_counter();
		uint64_t ns = time_in(seen, ticks), withdrawn = seen - SWITCHING + 2 * GENERATION;

		if (seen & SWITCHING && ns > get(&curve_of(seen + GENERATION)->start_ns)) {
			atomic_compare_exchange_strong(&phase, &seen, withdrawn);
			continue;
		}
		atomic_thread_fence(memory_order_acquire);
		if (get(&phase) != seen)
			continue;
		if (!(seen & (ON_VDSO | SWITCHING)) && needs_refresh(c, ticks))
			refresh(seen);
		return ns;
	}
}

uint64_t gn_clock_ns(void)
{
	uint64_t seen = atomic_load_explicit(&phase, memory_order_acquire);
	const struct curve *c = curve_of(seen);
	uint64_t since, ns;

	if (seen & (ON_VDSO | SWITCHING))
		return slow_ns();
	since = read_counter() - get(&c->start_ticks);
	if (since >= get(&c->span_ticks))
		return slow_ns();
	ns = get(&c->start_ns) + scale(since, get(&c->slope));
	atomic_thread_fence(memory_order_acquire);
	return get(&phase) == seen ? ns : slow_ns();
}

/* False where reads of the two clocks are too far apart to compare them within 2 FIRST_NS. */
static bool calibrate(uint64_t *rate)
{
	struct anchor first = read_anchor(8), now;

	base = middle = first;
	do {
		while (raw_ns() - first.ns < FIRST_NS)
			;
		now = read_anchor(8);
		if (first.width_ticks + now.width_ticks < (now.ticks - first.ticks) / 1000) {
			*rate = ratio(now.ns - first.ns, now.ticks - first.ticks);
			return true;
		}
	} while (now.ns - first.ns < 2 * FIRST_NS);
	return false;
}

/* Leads from the vDSO to the first curve. */
static void start_counter(uint64_t rate)
{
	int attempts = 10;

	while (attempts-- && get(&phase) & ON_VDSO) {
		uint64_t seen = get(&phase);
		struct curve *next = curve_of(seen + GENERATION);
		struct anchor now = read_anchor(8);

		draw_before(next, now.ticks, 0, 0);
		draw(next, &now, rate, FIRST_SPAN_NS, now.ns + MARGIN_NS);
		switch_from(seen, 0);
	}
}

/* The thread that was refreshing, if any, did not come along. */
static void forget_refresh(void)
{
	atomic_store(&refreshing, false);
}

static int init_result;

static void init_once(void)
{
	const char *wish = getenv("GNOMON_CLOCK");
	struct timespec now;
	uint64_t rate;

	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
		init_result = -errno;
	else if (!(wish && !strcmp(wish, "vdso")) && gn_clock_counter_is_usable() &&
		 calibrate(&rate)) {
		gn_at_fork(forget_refresh);
		start_counter(rate);
	}
}

int gn_clock_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved_errno = errno;

	pthread_once(&once, init_once);
	errno = saved_errno;
	return init_result;
}

enum gn_clock_source gn_clock_source(void)
{
	return get(&phase) & ON_VDSO ? GN_CLOCK_VDSO : COUNTER;
}

enum gn_clock_source gn_clock_counter(void)
{
	return COUNTER;
}

const char *gn_clock_source_name(enum gn_clock_source source)
{
	switch (source) {
	case GN_CLOCK_VDSO:
		return "vdso";
	case GN_CLOCK_TSC:
		return "tsc";
	case GN_CLOCK_CNTVCT:
		return "cntvct";
	}
	return "unknown";
}

int gn_clock_has_counter(void)
{
	return get(&ticks_rate) != 0;
}

double gn_clock_hz(void)
{
	uint64_t rate = get(&ticks_rate);

	return rate ? (double)NS_PER_S / (double)rate * (double)((uint64_t)1 << RATE_SHIFT)
		    : (double)NS_PER_S;
}

uint64_t gn_clock_ticks(void)
{
	return get(&ticks_rate) ? read_counter() : raw_ns();
}

uint64_t gn_clock_virtual_ns(void)
{
	return posix_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t gn_clock_process_ns(void)
{
	return posix_ns(CLOCK_PROCESS_CPUTIME_ID);
}
