/*
 * The clock on counters that go wrong, and in more changes of its curve than a real one goes
 * through in an hour. The clock's source is included so that it reads simulated clocks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <x86intrin.h>

#include "check.h"

static int simulated_gettime(clockid_t clock, struct timespec *now);
static uint64_t simulated_counter(unsigned int *cpu);

#define clock_gettime simulated_gettime
#define __rdtscp simulated_counter
#include "../core/clock.c"
#undef clock_gettime
#undef __rdtscp

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

#define THREADS 4

/* How much faster than real time the threads' race runs, so that it has many "seconds". */
#define HASTE 50

static uint64_t clock_now_ns = 1000 * S, counter_now = 12345;
static double ticks_per_ns = 2.6;
static bool real_time;

static uint64_t simulated_raw_ns(void)
{
	struct timespec now;
	uint64_t ns, wave;

	if (!real_time)
		return clock_now_ns;
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC_RAW, &now), 0);
	ns = ((uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec) * HASTE;
	/* A triangle of 300 ppm either way, so that the curves must slew up and down. */
	wave = ns % (6 * S);
	wave = wave < 3 * S ? wave : 6 * S - wave;
	return ns + wave / 3333;
}

static void advance(uint64_t ns)
{
	clock_now_ns += ns;
	counter_now += (uint64_t)((double)ns * ticks_per_ns);
}

static int simulated_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns;

	(void)clock;
	if (!real_time)
		advance(20);
	ns = simulated_raw_ns();
	now->tv_sec = (time_t)(ns / S);
	now->tv_nsec = (long)(ns % S);
	return 0;
}

static uint64_t simulated_counter(unsigned int *cpu)
{
	struct timespec now;

	*cpu = 0;
	if (!real_time) {
		advance(10);
		return counter_now;
	}
	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC_RAW, &now), 0);
	return ((uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec) * 3 * HASTE;
}

static uint64_t before;

static uint64_t read_forward(void)
{
	uint64_t now = gn_clock_ns();

	CHECK(now >= before);
	before = now;
	return now;
}

static uint64_t error_ns(void)
{
	uint64_t now = read_forward();

	return now > clock_now_ns ? now - clock_now_ns : clock_now_ns - now;
}

static void start(void)
{
	uint64_t rate;

	read_forward();
	CHECK(calibrate(&rate));
	start_counter(rate);
	CHECK_EQ(gn_clock_source(), GN_CLOCK_TSC);
	CHECK(error_ns() < US);
}

static void test_steady(void)
{
	const uint64_t steps[] = {100, 50 * US, 3 * MS, 400 * MS, S, 3 * S, 3600 * S};

	start();
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		for (unsigned int n = 0; n < 2000; n++) {
			advance(steps[i]);
			CHECK(error_ns() < 10 * US);
		}
	}
	CHECK_EQ(gn_clock_source(), GN_CLOCK_TSC);
	CHECK(gn_clock_hz() > 2.5999e9 && gn_clock_hz() < 2.6001e9);
}

static void test_errors_of_calibration_vanish(void)
{
	start();
	for (int i = 0; i < 100; i++) {
		advance(100 * MS);
		read_forward();
	}
	CHECK(error_ns() < 50);
}

static void test_drift(void)
{
	start();
	for (int i = 0; i < 20000; i++) {
		ticks_per_ns = 2.6 * (1 + 2e-4 * ((i / 1000) % 2 ? 1 : -1));
		advance(7 * MS);
		CHECK(error_ns() < 500 * US);
	}
	CHECK_EQ(gn_clock_source(), GN_CLOCK_TSC);
}

static void check_given_up(void)
{
	for (int i = 0; i < 100; i++) {
		advance(100 * MS);
		read_forward();
	}
	CHECK_EQ(gn_clock_source(), GN_CLOCK_VDSO);
	CHECK(error_ns() < 100);
}

static void run_for_a_while(void)
{
	start();
	for (int i = 0; i < 500; i++) {
		advance(10 * MS);
		CHECK(error_ns() < 10 * US);
	}
}

static void test_other_frequency(void)
{
	run_for_a_while();
	ticks_per_ns = 2.7;
	check_given_up();
}

static void test_stopped_counter(void)
{
	run_for_a_while();
	ticks_per_ns = 0;
	/* Nothing shows on the curve: only the counter could tell that it is time to compare. */
	advance(S);
	read_forward();
	ticks_per_ns = 2.6;
	check_given_up();
}

static void test_jump_ahead(void)
{
	run_for_a_while();
	counter_now += (uint64_t)(3600.0 * 2.6e9);
	CHECK(error_ns() < 2 * S + MS);
	check_given_up();
}

static void test_jump_back(void)
{
	run_for_a_while();
	counter_now = 1;
	read_forward();
	CHECK(error_ns() < 2 * MS);
	check_given_up();
}

static void check_correct(void)
{
	for (int i = 0; i < 100; i++) {
		advance(100 * MS);
		CHECK(error_ns() < 10 * US);
	}
}

/* A refresh that never ends; its thread was perhaps left by a signal handler. */
static void test_abandoned_refresh(void)
{
	run_for_a_while();
	refreshing = true;
	check_correct();
}

/* The same in a child of a process of which another thread was in the middle of a refresh. */
static void test_abandoned_refresh_and_fork(void)
{
	uint64_t seen;

	run_for_a_while();
	refreshing = true;
	forget_refresh();
	seen = phase;
	check_correct();
	CHECK(phase > seen + 5 * GENERATION);
}

static void announce(void)
{
	struct curve *next = curve_of(phase + GENERATION);
	struct anchor now = read_anchor(1);
	uint64_t rate = ticks_rate ? ticks_rate : ratio(10, 26);

	draw_before(next, now.ticks, 0, 0);
	draw(next, &now, rate, S, now.ns + MARGIN_NS);
	phase |= SWITCHING;
}

static void test_abandoned_switch(void)
{
	uint64_t seen;

	run_for_a_while();
	seen = phase;
	announce();
	CHECK(error_ns() < 10 * US);
	CHECK_EQ(phase, seen | SWITCHING);
	advance(MARGIN_NS);
	CHECK(error_ns() < 10 * US);
	CHECK_EQ(phase, seen + 2 * GENERATION);
	check_correct();
	CHECK_EQ(gn_clock_source(), GN_CLOCK_TSC);
}

static void test_abandoned_init(void)
{
	uint64_t rate;

	announce();
	CHECK(error_ns() < US);
	CHECK(calibrate(&rate));
	advance(MARGIN_NS);
	CHECK(error_ns() < US);
	CHECK_EQ(gn_clock_source(), GN_CLOCK_VDSO);
	start_counter(rate);
	CHECK_EQ(gn_clock_source(), GN_CLOCK_TSC);
	check_correct();
}

static void test_late_writer_withdraws(void)
{
	uint64_t seen;

	run_for_a_while();
	seen = phase;
	announce();
	phase = seen;
	advance(MARGIN_NS);
	switch_from(seen, 0);
	CHECK_EQ(phase, seen + 2 * GENERATION);
	check_correct();
}

static void test_incomparable_clocks(void)
{
	uint64_t rate;

	ticks_per_ns = 0;
	CHECK(!calibrate(&rate));
}

static _Atomic uint64_t latest;
static _Atomic int stop;

static void *race(void *arg)
{
	(void)arg;
	while (!stop) {
		uint64_t seen = latest, now = gn_clock_ns();

		CHECK(now >= seen);
		while (seen < now && !atomic_compare_exchange_weak(&latest, &seen, now))
			;
	}
	return NULL;
}

static void test_race(void)
{
	struct timespec pause = {0, 10000000};
	pthread_t threads[THREADS];
	uint64_t worst = 0;

	real_time = true;
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, race, NULL), 0);
	base = middle = read_anchor(8);
	start_counter(ratio(1, 3));
	for (unsigned int i = 0; i < check_work(200); i++) {
		uint64_t low = raw_ns(), now = gn_clock_ns(), high = raw_ns(), error = 0;

		if (now < low || now > high)
			error = now < low ? low - now : now - high;
		if (error > worst)
			worst = error;
		nanosleep(&pause, NULL);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	printf("  %llu curves, %s, at most %llu ns off\n", (unsigned long long)(phase / GENERATION),
	       gn_clock_source_name(gn_clock_source()), (unsigned long long)worst);
	CHECK(worst < 10 * MS);
}

int main(void)
{
	RUN(test_steady);
	RUN(test_errors_of_calibration_vanish);
	RUN(test_drift);
	RUN(test_other_frequency);
	RUN(test_stopped_counter);
	RUN(test_jump_ahead);
	RUN(test_jump_back);
	RUN(test_abandoned_refresh);
	RUN(test_abandoned_refresh_and_fork);
	RUN(test_abandoned_switch);
	RUN(test_abandoned_init);
	RUN(test_late_writer_withdraws);
	RUN(test_incomparable_clocks);
	RUN(test_race);
	return check_result;
}
