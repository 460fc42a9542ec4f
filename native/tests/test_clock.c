/* The clock as its callers see it, on this machine's own counter. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "gnomon/clock.h"

#define THREADS 4
#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void pause_ns(uint64_t ns)
{
	struct timespec pause = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

	nanosleep(&pause, NULL);
}

/* How far outside of the kernel's readings before and after the clock is. */
static uint64_t error_ns(void)
{
	uint64_t before = kernel_ns(CLOCK_MONOTONIC_RAW);
	uint64_t now = gn_clock_ns();
	uint64_t after = kernel_ns(CLOCK_MONOTONIC_RAW);

	if (now < before)
		return before - now;
	return now > after ? now - after : 0;
}

static void test_before_init(void)
{
	CHECK_EQ(gn_clock_source(), GN_CLOCK_VDSO);
	CHECK_EQ(error_ns(), 0);
	CHECK(gn_clock_hz() == 1e9);
	CHECK(gn_clock_ticks() <= kernel_ns(CLOCK_MONOTONIC_RAW));
}

static void *init_and_read(void *arg)
{
	(void)arg;
	CHECK_EQ(gn_clock_init(), 0);
	CHECK(error_ns() < NS_PER_MS);
	return NULL;
}

static void test_init_by_many_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, init_and_read, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	errno = EDOM;
	CHECK_EQ(gn_clock_init(), 0);
	CHECK_EQ(errno, EDOM);
}

static void test_accuracy(void)
{
	uint64_t worst = 0, begin;

	CHECK_EQ(gn_clock_init(), 0);
	begin = kernel_ns(CLOCK_MONOTONIC_RAW);
	while (kernel_ns(CLOCK_MONOTONIC_RAW) - begin < check_work(1500) * (uint64_t)NS_PER_MS) {
		uint64_t error = error_ns();

		if (error > worst)
			worst = error;
		pause_ns(100000);
	}
	printf("  %s at %.0f Hz, at most %llu ns off\n", gn_clock_source_name(gn_clock_source()),
	       gn_clock_hz(), (unsigned long long)worst);
	CHECK(worst < NS_PER_MS);
}

static void test_after_a_long_pause(void)
{
	CHECK_EQ(gn_clock_init(), 0);
	for (int i = 0; i < 3; i++) {
		pause_ns(check_work(400) * (uint64_t)NS_PER_MS);
		CHECK(error_ns() < NS_PER_MS);
	}
}

static void test_ticks(void)
{
	uint64_t ticks, ns;
	double hz;

	CHECK_EQ(gn_clock_init(), 0);
	ticks = gn_clock_ticks();
	ns = kernel_ns(CLOCK_MONOTONIC_RAW);
	pause_ns(50 * NS_PER_MS);
	ticks = gn_clock_ticks() - ticks;
	ns = kernel_ns(CLOCK_MONOTONIC_RAW) - ns;
	hz = (double)ticks / (double)ns * 1e9;
	CHECK(hz > 0.9 * gn_clock_hz() && hz < 1.1 * gn_clock_hz());
}

static _Atomic uint64_t latest;
static _Atomic int stop;

static void *race(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint64_t seen = atomic_load(&latest), now = gn_clock_ns();

		CHECK(now >= seen);
		while (seen < now && !atomic_compare_exchange_weak(&latest, &seen, now))
			;
	}
	return NULL;
}

static void test_monotonic_over_threads(void)
{
	pthread_t threads[THREADS];

	/* The change of source, in gn_clock_init(), is part of the race. */
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, race, NULL), 0);
	CHECK_EQ(gn_clock_init(), 0);
	pause_ns(check_work(1500) * (uint64_t)NS_PER_MS);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void test_fork(void)
{
	uint64_t before;
	int status;
	pid_t child;

	CHECK_EQ(gn_clock_init(), 0);
	before = gn_clock_ns();
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(gn_clock_ns() >= before);
		pause_ns(30 * NS_PER_MS);
		CHECK(error_ns() < NS_PER_MS);
		CHECK(error_ns() < NS_PER_MS);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(error_ns() < NS_PER_MS);
}

static void test_forced_vdso(void)
{
	setenv("GNOMON_CLOCK", "vdso", 1);
	CHECK_EQ(gn_clock_init(), 0);
	CHECK_EQ(gn_clock_source(), GN_CLOCK_VDSO);
	CHECK_EQ(error_ns(), 0);
	CHECK(gn_clock_hz() == 1e9);
}

static void test_source_names(void)
{
	CHECK(!strcmp(gn_clock_source_name(GN_CLOCK_VDSO), "vdso"));
	CHECK(!strcmp(gn_clock_source_name(GN_CLOCK_TSC), "tsc"));
	CHECK(!strcmp(gn_clock_source_name(GN_CLOCK_CNTVCT), "cntvct"));
	CHECK(!strcmp(gn_clock_source_name((enum gn_clock_source)99), "unknown"));
}

static void test_virtual_time(void)
{
	uint64_t process = gn_clock_process_ns(), thread = gn_clock_virtual_ns();

	while (gn_clock_virtual_ns() < thread + 2 * NS_PER_MS)
		;
	CHECK(gn_clock_process_ns() >= process + 2 * NS_PER_MS);
	CHECK(gn_clock_virtual_ns() <= kernel_ns(CLOCK_THREAD_CPUTIME_ID));
	CHECK(gn_clock_process_ns() <= kernel_ns(CLOCK_PROCESS_CPUTIME_ID));
}

int main(void)
{
	RUN(test_before_init);
	RUN(test_init_by_many_threads);
	RUN(test_accuracy);
	RUN(test_after_a_long_pause);
	RUN(test_ticks);
	RUN(test_monotonic_over_threads);
	RUN(test_fork);
	RUN(test_forced_vdso);
	RUN(test_source_names);
	RUN(test_virtual_time);
	return check_result;
}
