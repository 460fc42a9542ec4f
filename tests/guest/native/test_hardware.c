/*
 * Groups of hardware events against a PMU, on work of known size. Events are counted in user mode
 * alone where the PMU can tell modes apart: there every instruction is known.
 */
#include "../programs/spin.h"
#include "check.h"

#include <gnomon/perf.h>
#include <pthread.h>

#define ROUNDS 100000u
#define ATTEMPTS 9

#if defined(__aarch64__)
#define EXCLUDE (GN_EXCLUDE_KERNEL | GN_EXCLUDE_HYPERVISOR)
#define COUNTERS 6
#define TOLERATED 0
#else
/* The emulated PMU of POWER counts every mode, so a count holds some of the kernel's work too. */
#define EXCLUDE 0
#define TOLERATED 8000
#endif

static struct gn_event_spec hardware(uint64_t config, int leader)
{
	struct gn_event_spec spec = {
		.type = PERF_TYPE_HARDWARE,
		.config = config,
		.leader = leader,
		.exclude = EXCLUDE,
	};

	return spec;
}

static uint64_t value_of(const struct gn_group *group, int event)
{
	static uint64_t words[3 + GN_EVENTS_MAX];
	struct gn_reading *reading = (struct gn_reading *)words;

	CHECK_EQ(gn_group_read(group, reading), 0);
	return reading->value[event];
}

/* The fewest instructions of several attempts: an interrupt can only add some. */
static int64_t fewest(const struct gn_group *group, uint64_t rounds)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < ATTEMPTS; i++) {
		const uint64_t before = value_of(group, 0);
		int64_t count;

		spin(rounds);
		count = (int64_t)(value_of(group, 0) - before);
		if (count < least)
			least = count;
	}
	return least;
}

static void check_linear(uint32_t flags)
{
	struct gn_event_spec spec = hardware(PERF_COUNT_HW_INSTRUCTIONS, 0);
	struct gn_group group;
	int64_t before;

	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, flags | GN_STARTED, NULL), 0);
	fewest(&group, 1);
	before = fewest(&group, ROUNDS);
	for (unsigned int times = 2; times <= 8; times *= 2) {
		const int64_t now = fewest(&group, (uint64_t)times * ROUNDS);
		const int64_t more = now - before - (int64_t)times * ROUNDS;

		printf("  %u rounds: %lld instructions, %+lld\n", times * ROUNDS, (long long)now,
		       (long long)more);
		CHECK(llabs(more) <= TOLERATED);
		before = now;
	}
	gn_group_close(&group);
}

static void test_instructions_are_linear(void)
{
	check_linear(0);
}

static void test_a_disabled_group_stands_still(void)
{
	struct gn_event_spec spec[] = {hardware(PERF_COUNT_HW_INSTRUCTIONS, 0),
				       hardware(PERF_COUNT_HW_CPU_CYCLES, 0)};
	struct gn_group group;
	uint64_t count;

	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, 0, NULL), 0);
	spin(ROUNDS);
	CHECK_EQ(value_of(&group, 0), 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	spin(ROUNDS);
	CHECK_EQ(gn_group_disable(&group), 0);
	count = value_of(&group, 0);
	CHECK(count >= 2 * ROUNDS);
	CHECK(value_of(&group, 1) > 0);
	spin(ROUNDS);
	CHECK_EQ(value_of(&group, 0), count);
	CHECK_EQ(gn_group_reset(&group), 0);
	CHECK_EQ(value_of(&group, 0), 0);
	gn_group_close(&group);
}

static void *spin_rounds(void *unused)
{
	spin(ROUNDS);
	return unused;
}

/* Instructions of a group in which a child and a thread of it work, or nobody else does. */
static uint64_t of_a_family(uint32_t flags)
{
	struct gn_event_spec spec = hardware(PERF_COUNT_HW_INSTRUCTIONS, 0);
	struct gn_count count;
	struct gn_group group;
	pthread_t thread;
	pid_t child;

	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, flags | GN_STARTED, NULL), 0);
	child = fork();
	if (!child) {
		spin(10 * ROUNDS);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(pthread_create(&thread, NULL, spin_rounds, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(gn_group_read_each(&group, &count), 0);
	gn_group_close(&group);
	return count.value;
}

static void test_inherited_counts_hold_children_and_threads(void)
{
	const uint64_t alone = of_a_family(0), family = of_a_family(GN_INHERIT);
	const uint64_t work = 11 * 2 * ROUNDS;

	printf("  alone %llu, with its family %llu\n", (unsigned long long)alone,
	       (unsigned long long)family);
	CHECK(alone < work / 2);
	CHECK(family >= work && family < 2 * work);
}

#if defined(__aarch64__)

static void test_user_reads_agree_with_the_kernels(void)
{
	struct gn_event_spec spec[] = {hardware(PERF_COUNT_HW_INSTRUCTIONS, 0),
				       hardware(PERF_COUNT_HW_CPU_CYCLES, 0)};
	struct gn_group group;
	uint64_t before[3 + 2], after[3 + 2];

	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, GN_STARTED | GN_USER_READ, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		struct gn_count seen[2];

		CHECK_EQ(read(group.fd[0], before, sizeof(before)), sizeof(before));
		for (int event = 0; event < 2; event++) {
			CHECK_EQ(gn_user_read(group.page[event], &seen[event]), 1);
			CHECK(seen[event].enabled >= seen[event].running);
		}
		CHECK_EQ(read(group.fd[0], after, sizeof(after)), sizeof(after));
		for (int event = 0; event < 2; event++) {
			CHECK(before[3 + event] < seen[event].value);
			CHECK(seen[event].value < after[3 + event]);
		}
		/* The time is the clock's, multiplied and shifted: right to a few nanoseconds. */
		CHECK(before[1] <= seen[0].enabled + 100 && seen[0].enabled <= after[1] + 100);
	}
	gn_group_close(&group);
	check_linear(GN_USER_READ);
}

/* As many instruction counters as asked for in one group; 0 or what the kernel says to them. */
static int open_full(struct gn_group *group, int n, pid_t pid, uint32_t flags, int *failed)
{
	struct gn_event_spec spec[COUNTERS + 2];

	for (int i = 0; i < n; i++)
		spec[i] = hardware(PERF_COUNT_HW_INSTRUCTIONS, 0);
	return gn_group_open(group, spec, n, pid, -1, flags, failed);
}

static void test_a_group_fits_or_does_not_count_at_all(void)
{
	struct gn_count count[COUNTERS + 1];
	struct gn_group group;
	int failed;

	CHECK_EQ(open_full(&group, COUNTERS, 0, GN_STARTED, NULL), 0);
	spin(ROUNDS);
	CHECK_EQ(gn_group_read_each(&group, count), 0);
	for (int i = 0; i < COUNTERS; i++) {
		CHECK(count[i].value >= 2 * ROUNDS);
		CHECK_EQ(count[i].running, count[i].enabled);
	}
	gn_group_close(&group);

	CHECK_EQ(open_full(&group, COUNTERS + 1, 0, 0, &failed), -EINVAL);
	CHECK_EQ(failed, COUNTERS);

	/*
	 * A leader that is off is not there when the kernel tries whether a member fits, and that
	 * of another task than the calling one cannot be opened so that it is.
	 */
	CHECK_EQ(open_full(&group, COUNTERS + 2, gettid(), 0, &failed), -EINVAL);
	CHECK_EQ(failed, COUNTERS + 1);
	CHECK_EQ(open_full(&group, COUNTERS + 1, gettid(), 0, NULL), 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	spin(ROUNDS);
	CHECK_EQ(gn_group_read_each(&group, count), 0);
	for (int i = 0; i <= COUNTERS; i++) {
		CHECK_EQ(count[i].value, 0);
		CHECK_EQ(count[i].running, 0);
		CHECK(count[i].enabled > 0);
	}
	gn_group_close(&group);
}

static void test_a_pinned_group_that_does_not_fit_is_busy(void)
{
	struct gn_count count[COUNTERS + 1];
	struct gn_group group;

	CHECK_EQ(open_full(&group, COUNTERS + 1, gettid(), GN_PINNED, NULL), 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	spin(ROUNDS);
	CHECK_EQ(gn_group_read_each(&group, count), -EBUSY);
	gn_group_close(&group);
}

static void test_exclude_bits_tell_modes_apart(void)
{
	static const uint32_t exclude[] = {EXCLUDE, GN_EXCLUDE_USER, 0};
	struct gn_event_spec spec[3];
	struct gn_group group;
	uint64_t user, kernel, all;

	for (int i = 0; i < 3; i++) {
		spec[i] = hardware(PERF_COUNT_HW_INSTRUCTIONS, 0);
		spec[i].exclude = exclude[i];
	}
	CHECK_EQ(gn_group_open(&group, spec, 3, 0, -1, 0, NULL), 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	for (int i = 0; i < 1000; i++)
		getppid();
	spin(ROUNDS);
	CHECK_EQ(gn_group_disable(&group), 0);
	user = value_of(&group, 0);
	kernel = value_of(&group, 1);
	all = value_of(&group, 2);
	printf("  user %llu, kernel %llu, all %llu\n", (unsigned long long)user,
	       (unsigned long long)kernel, (unsigned long long)all);
	CHECK(user >= 2 * ROUNDS && user < 2 * ROUNDS + 100000);
	CHECK(kernel >= 1000 * 50);
	/* The three are switched on and off one after the other, by the kernel's own code. */
	CHECK(llabs((int64_t)(all - user - kernel)) < 2000);
	gn_group_close(&group);
}

#endif

int main(void)
{
	RUN(test_instructions_are_linear);
	RUN(test_a_disabled_group_stands_still);
	RUN(test_inherited_counts_hold_children_and_threads);
#if defined(__aarch64__)
	RUN(test_user_reads_agree_with_the_kernels);
	RUN(test_a_group_fits_or_does_not_count_at_all);
	RUN(test_a_pinned_group_that_does_not_fit_is_busy);
	RUN(test_exclude_bits_tell_modes_apart);
#endif
	return check_result;
}
