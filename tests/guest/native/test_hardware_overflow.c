/* Overflow and profiles on a PMU that interrupts, PAPI's behaviours 13 to 18; or on one that does
 * not. */
#include "../programs/spin.h"
#include "work.h"

#include <math.h>

#define ROUNDS 2000000u
/*
 * 13 ms of a machine that takes 64 ns for an instruction: interrupts are long there, and the kernel
 * allows few (kernel.perf_cpu_time_max_percent).
 */
#define THRESHOLD 200000

#if defined(__aarch64__)
#define INSTRUCTIONS "r8:u"
#else
#define INSTRUCTIONS "PM_INST_CMPL"
#endif

#define REGION(name) __attribute__((noinline, section(#name)))
extern const char __start_hot[], __stop_hot[], __start_warm[], __stop_warm[];

REGION(hot) static void spin_hot(void)
{
	spin(3 * ROUNDS);
}

struct seen {
	int64_t calls[2], in_hot;
};

static void note(const struct gn_overflow *overflow, void *data)
{
	struct seen *seen = data;

	seen->calls[overflow->event]++;
	seen->in_hot += overflow->address >= (uintptr_t)__start_hot &&
			overflow->address < (uintptr_t)__stop_hot;
}

#if defined(__aarch64__)

REGION(warm) static void spin_warm(void)
{
	spin(ROUNDS);
}

static struct gn_overflow_info info_of(gn_set set, const char *event)
{
	struct gn_overflow_info info = {.size = sizeof(info)};

	OK(gn_set_overflow_info(set, event, &info));
	return info;
}

/* 13, and what the handlers' own instructions add is in the count. */
static void test_overflows_are_the_total_over_the_threshold(void)
{
	gn_set set = set_of(INSTRUCTIONS, NULL);
	struct seen seen = {0};
	struct gn_estimate total;
	int64_t count;

	OK(gn_set_overflow(set, INSTRUCTIONS, THRESHOLD, 0, note, &seen));
	OK(gn_set_start(set));
	spin_hot();
	OK(gn_set_stop(set, &count));
	printf("  %lld of %lld overflows of instructions, %lld in the loop\n",
	       (long long)seen.calls[0], (long long)(count / THRESHOLD), (long long)seen.in_hot);
	CHECK(count >= 6 * ROUNDS);
	CHECK_EQ(seen.calls[0] + info_of(set, INSTRUCTIONS).lost, count / THRESHOLD);
	CHECK(seen.calls[0] >= 0.9 * (double)(count / THRESHOLD));
	CHECK(seen.in_hot >= 0.9 * (double)seen.calls[0]);
	CHECK_EQ(info_of(set, INSTRUCTIONS).kind, GN_OVERFLOW_FAST);
	OK(gn_set_estimate(set, INSTRUCTIONS, &total));
	CHECK(total.value - total.error <= (double)count);
	CHECK(total.value + total.error >= (double)count);
	end_set(set);
}

/* 15 and 16. */
static void test_events_have_thresholds_of_their_own(void)
{
	gn_set set = set_of(INSTRUCTIONS, "cycles:u");
	struct seen seen = {0};
	int64_t count[2];

	OK(gn_set_overflow(set, INSTRUCTIONS, THRESHOLD, 0, note, &seen));
	OK(gn_set_overflow(set, "cycles:u", 20 * THRESHOLD, 0, note, &seen));
	OK(gn_set_start(set));
	spin_hot();
	OK(gn_set_stop(set, count));
	printf("  %lld and %lld overflows of instructions and cycles\n", (long long)seen.calls[0],
	       (long long)seen.calls[1]);
	CHECK_EQ(seen.calls[0] + info_of(set, INSTRUCTIONS).lost, count[0] / THRESHOLD);
	CHECK_EQ(seen.calls[1] + info_of(set, "cycles:u").lost, count[1] / (20 * THRESHOLD));
	CHECK(seen.calls[0] >= 40 && seen.calls[1] >= 1);
	end_set(set);
}

static uint64_t sum_of(const uint32_t *buckets, const char *start, const char *stop)
{
	uint64_t sum = 0;

	for (long i = 0; i < stop - start; i++)
		sum += buckets[i];
	return sum;
}

/* 17 and 18; records gather in a ring, and no signal comes for each. */
static void test_profiles_fall_where_the_work_is(void)
{
	static uint32_t hot[256], warm[256], rest[1];
	const struct gn_profil regions[] = {
		{hot, sizeof(*hot) * (size_t)(__stop_hot - __start_hot), (uintptr_t)__start_hot,
		 GN_PROFIL_SCALE_MAX},
		{warm, sizeof(*warm) * (size_t)(__stop_warm - __start_warm),
		 (uintptr_t)__start_warm, GN_PROFIL_SCALE_MAX},
		{rest, sizeof(rest), 0, 2},
	};
	gn_set set = set_of(INSTRUCTIONS, NULL);
	struct gn_overflow_info info;
	uint64_t in_hot, in_warm;
	int64_t count;

	CHECK(__stop_hot - __start_hot <= 256 && __stop_warm - __start_warm <= 256);
	OK(gn_set_sprofil(set, INSTRUCTIONS, regions, 3, THRESHOLD, GN_PROFIL_BUCKET_32));
	OK(gn_set_start(set));
	spin_hot();
	spin_warm();
	OK(gn_set_stop(set, &count));
	info = info_of(set, INSTRUCTIONS);
	in_hot = sum_of(hot, __start_hot, __stop_hot);
	in_warm = sum_of(warm, __start_warm, __stop_warm);
	printf("  profile of %llu overflows: %llu hot, %llu warm, %u elsewhere\n",
	       (unsigned long long)info.overflows, (unsigned long long)in_hot,
	       (unsigned long long)in_warm, rest[0]);
	CHECK_EQ(in_hot + in_warm + rest[0], info.overflows);
	CHECK_EQ((int64_t)info.overflows + info.lost, count / THRESHOLD);
	/* Three of four rounds are hot, whatever was lost; one sample is 1.25 %. */
	CHECK(in_hot + in_warm >= 0.9 * (double)info.overflows);
	CHECK(fabs((double)in_hot / (double)(in_hot + in_warm) - 0.75) < 0.05);
	end_set(set);
}

/* Arm's driver takes any precise_ip and knows none: that is said. */
static void test_what_is_granted_is_said(void)
{
	gn_set set = set_of(INSTRUCTIONS, NULL);
	struct seen seen = {0};

	OK(gn_set_overflow(set, INSTRUCTIONS "pp", THRESHOLD, 0, note, &seen));
	CHECK_EQ(info_of(set, INSTRUCTIONS).precise_wanted, 2);
	CHECK_EQ(info_of(set, INSTRUCTIONS).precise, 0);
	OK(gn_set_overflow(set, INSTRUCTIONS, THRESHOLD, GN_OVERFLOW_RANDOM, note, &seen));
	OK(gn_set_start(set));
	spin_hot();
	OK(gn_set_stop(set, NULL));
	/* 60 thresholds of a mean of 200,000. */
	CHECK(seen.calls[0] > 40 && seen.calls[0] < 80);
	end_set(set);
}

#else

/* The kernel's driver takes a period; the emulated counters never interrupt, and read 0. */
static void test_a_pmu_that_does_not_interrupt_says_so(void)
{
	gn_set set = set_of(INSTRUCTIONS, NULL);

	FAILS(gn_set_overflow(set, INSTRUCTIONS, THRESHOLD, 0, note, NULL), GN_ECMP,
	      "GN_OVERFLOW_SOFTWARE");
	end_set(set);
}

#endif

/* 14. */
static void test_a_timer_bounds_software_overflow(void)
{
	gn_set set = set_of(INSTRUCTIONS, "task-clock");
	struct seen seen = {0};
	int64_t count[2];

	OK(gn_set_overflow(set, INSTRUCTIONS, THRESHOLD, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	spin_hot();
	OK(gn_set_stop(set, count));
	printf("  %lld of %lld overflows by the timer\n", (long long)seen.calls[0],
	       (long long)(count[0] / THRESHOLD));
	CHECK(seen.calls[0] >= 1);
	CHECK(seen.calls[0] <= count[1] / (int64_t)GN_OVERFLOW_TICK_NS + 1);
	CHECK(seen.calls[0] <= count[0] / THRESHOLD);
	end_set(set);
}

static void test_components_say_how_they_overflow(void)
{
	int cpu;

	OK(gn_component_index("cpu", &cpu));
#if defined(__aarch64__)
	CHECK_EQ(gn_component_overflow(cpu), GN_OVERFLOW_FAST);
#else
	CHECK_EQ(gn_component_overflow(cpu), GN_OVERFLOW_SLOW);
#endif
}

int main(void)
{
#if defined(__aarch64__)
	RUN(test_overflows_are_the_total_over_the_threshold);
	RUN(test_events_have_thresholds_of_their_own);
	RUN(test_profiles_fall_where_the_work_is);
	RUN(test_what_is_granted_is_said);
#else
	RUN(test_a_pmu_that_does_not_interrupt_says_so);
#endif
	RUN(test_a_timer_bounds_software_overflow);
	RUN(test_components_say_how_they_overflow);
	return check_result;
}
