/* Event sets in C against a PMU: what fits, turns, attaching, inheritance, reads, presets. */
#include "../programs/spin.h"
#include "work.h"

#include <math.h>
#include <pthread.h>

#define ROUNDS 200000u
#define PER_ROUND 2

#if defined(__aarch64__)
#define INSTRUCTIONS "r8:u"
#define TOLERATED 1000
#define COUNTERS 6
#else
/* The emulated PMU of POWER counts every mode, so a count holds some of the kernel's work too. */
#define INSTRUCTIONS "PM_INST_CMPL"
#define TOLERATED 200000
#endif

/* What making a thread takes in user mode: its stack, its first symbols. */
#define OF_A_THREAD 20000

static void check_about(int64_t count, uint64_t rounds, int64_t tolerated)
{
	const int64_t more = count - (int64_t)(PER_ROUND * rounds);

	if (more < 0 || more > tolerated)
		fprintf(stderr, "%lld instructions of %llu rounds\n", (long long)count,
			(unsigned long long)rounds);
	CHECK(more >= 0 && more <= tolerated);
}

static void check_instructions(int64_t count, uint64_t rounds)
{
	check_about(count, rounds, TOLERATED);
}

static void test_instructions_by_name_and_preset(void)
{
	static const char *const names[] = {INSTRUCTIONS, "instructions", "PAPI_TOT_INS"};

	for (int i = 0; i < 3; i++) {
		gn_set set;
		int64_t count = 0;

		OK(gn_set_create(&set, NULL));
		OK(gn_set_add(set, names[i]));
		OK(gn_set_start(set));
		spin(ROUNDS);
		OK(gn_set_stop(set, &count));
		printf("  %s: %lld of %u\n", names[i], (long long)count, PER_ROUND * ROUNDS);
		CHECK(count >= PER_ROUND * ROUNDS);
		if (i == 0)
			check_instructions(count, ROUNDS);
		end_set(set);
	}
}

static void test_reads_resets_and_sums(void)
{
	gn_set set = set_of(INSTRUCTIONS, "page-faults");
	int64_t count[2], total[2] = {0, 0};

	OK(gn_set_start(set));
	spin(ROUNDS);
	OK(gn_set_read(set, count));
	check_instructions(count[0], ROUNDS);
	OK(gn_set_reset(set));
	spin(ROUNDS);
	OK(gn_set_accumulate(set, total));
	spin(ROUNDS);
	OK(gn_set_accumulate(set, total));
	check_instructions(total[0], 2 * ROUNDS);
	OK(gn_set_stop(set, count));
	CHECK(count[0] < PER_ROUND * ROUNDS);
	end_set(set);
	/* One event alone is read without a system call where the kernel allows it. */
	set = set_of(INSTRUCTIONS, NULL);
	for (int run = 0; run < 3; run++) {
		OK(gn_set_start(set));
		spin(ROUNDS);
		OK(gn_set_read(set, count));
		check_instructions(count[0], ROUNDS);
		spin(ROUNDS);
		OK(gn_set_stop(set, count));
		check_instructions(count[0], 2 * ROUNDS);
	}
	end_set(set);
}

static void *read_anothers_set(void *argument)
{
	gn_set set = *(gn_set *)argument;
	int64_t count;

	spin(10 * ROUNDS);
	OK(gn_set_read(set, &count));
	check_about(count, ROUNDS, TOLERATED + OF_A_THREAD);
	return NULL;
}

/* Its counter is on another thread: the registers of this one say nothing about it. */
static void test_another_thread_reads(void)
{
	gn_set set = set_of(INSTRUCTIONS, NULL);
	pthread_t thread;

	OK(gn_set_start(set));
	spin(ROUNDS);
	CHECK_EQ(pthread_create(&thread, NULL, read_anothers_set, &set), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	OK(gn_set_stop(set, NULL));
	end_set(set);
}

static pid_t spin_in_child(gn_set *attached)
{
	int go[2];
	char byte = 0;
	pid_t child;

	CHECK_EQ(pipe(go), 0);
	child = fork();
	if (!child) {
		CHECK_EQ(read(go[0], &byte, 1), 1);
		spin(4 * ROUNDS);
		_exit(0);
	}
	if (attached) {
		OK(gn_set_attach(*attached, child, -1));
		OK(gn_set_start(*attached));
	}
	CHECK_EQ(write(go[1], &byte, 1), 1);
	close(go[0]);
	close(go[1]);
	return child;
}

static void expect_end(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void test_attach_counts_the_target_only(void)
{
	gn_set set;
	int64_t count;

	OK(gn_set_create(&set, NULL));
	OK(gn_set_add(set, INSTRUCTIONS));
	expect_end(spin_in_child(&set));
	spin(20 * ROUNDS);
	OK(gn_set_stop(set, &count));
	CHECK(count >= 4 * PER_ROUND * ROUNDS);
	CHECK(count < 12 * PER_ROUND * ROUNDS);
	end_set(set);
}

static void test_inherit_counts_children(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set;
	int64_t count;

	options.inherit = 1;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, INSTRUCTIONS));
	for (int run = 0; run < 2; run++) {
		OK(gn_set_start(set));
		spin(ROUNDS);
		expect_end(spin_in_child(NULL));
		OK(gn_set_stop(set, &count));
		CHECK(count >= 5 * PER_ROUND * ROUNDS);
		CHECK(count < 12 * PER_ROUND * ROUNDS);
	}
	end_set(set);
}

#if defined(COUNTERS)

/* Different events, of which only instructions count anything here. */
static const char *const many[] = {INSTRUCTIONS, "r1:u", "r2:u", "r3:u", "r4:u", "r5:u",
				   "r6:u",	 "r7:u", "r9:u", "ra:u", "rc:u", "rd:u"};

/* For the caller, for another thread, and for what is inherited. */
static void test_what_does_not_fit_is_refused(void)
{
	for (int kind = 0; kind < 3; kind++) {
		struct gn_options options = GN_OPTIONS_INIT;
		const int files = open_descriptors();
		int64_t count[COUNTERS + 1];
		pid_t child = 0;
		gn_set set;

		options.inherit = kind == 1;
		OK(gn_set_create(&set, &options));
		if (kind == 2) {
			child = spin_in_child(NULL);
			OK(gn_set_attach(set, child, -1));
		}
		for (int i = 0; i < COUNTERS; i++)
			OK(gn_set_add(set, many[i]));
		FAILS(gn_set_add(set, many[COUNTERS]), GN_ECNFLCT, "no counter left");
		CHECK_EQ(gn_set_size(set), COUNTERS);
		/* Cycles have a counter of their own. */
		OK(gn_set_add(set, "cycles:u"));
		CHECK(open_descriptors() <= files + COUNTERS + 2);
		if (kind == 2) {
			expect_end(child);
		} else {
			OK(gn_set_start(set));
			spin(ROUNDS);
			OK(gn_set_stop(set, count));
			check_instructions(count[0], ROUNDS);
			CHECK(count[COUNTERS] > 0);
		}
		/* In the place of another one it fits. */
		OK(gn_set_remove(set, many[1]));
		if (kind != 2)
			OK(gn_set_add(set, many[COUNTERS]));
		end_set(set);
		CHECK_EQ(open_descriptors(), files);
	}
}

/* Instructions under many codes: the driver leaves out the upper bits. */
static void add_many_times(gn_set set, int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "r%x0008:u", i + 1);
		OK(gn_set_add(set, name));
	}
}

/*
 * Two groups, the first one full. What enabling and disabling them takes is in their time and is no
 * user's instruction, so that the larger group sees a little less and the smaller one a little
 * more.
 */
static void check_turns(int n, int inherit, double tolerated)
{
	/* 4 ms is the kernel's interval here, too far from any slice for it to rotate. */
	struct gn_options options = GN_OPTIONS_INIT;
	const double rounds = 80;
	struct gn_value value[2 * COUNTERS];
	double lowest = 2, highest = 0, share, mean = 0;
	uint64_t turns;
	gn_set set;

	options.multiplex = 1;
	options.inherit = inherit;
	options.slice_ns = GN_SLICE_MIN_NS;
	OK(gn_set_create(&set, &options));
	add_many_times(set, n);
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_remove(set, "page-faults"));
	CHECK(gn_set_state(set) & GN_STATE_ROTATING);
	for (int run = 0; run < 2; run++) {
		OK(gn_set_start(set));
		for (int i = 0; i < rounds; i++)
			spin(ROUNDS);
		OK(gn_set_turns(set, &turns));
		OK(gn_set_stop(set, NULL));
		OK(gn_set_values(set, value));
		CHECK(turns >= 100);
		for (int i = 0; i < n; i++) {
			const double part = value[i].value / (rounds * PER_ROUND * ROUNDS);
			const int first = i < COUNTERS ? 0 : COUNTERS;

			CHECK_EQ(value[i].how, GN_HOW_SCALED);
			CHECK_EQ(value[i].enabled_ns, value[0].enabled_ns);
			CHECK_EQ(value[i].running_ns, value[first].running_ns);
			lowest = fmin(lowest, part);
			highest = fmax(highest, part);
		}
		share = (double)(value[0].running_ns + value[n - 1].running_ns) /
			(double)value[0].enabled_ns;
		mean = (value[0].value + value[n - 1].value) / (rounds * PER_ROUND * ROUNDS) / 2;
		/* One of them counts at all times, and nothing is lost on the way. */
		CHECK(share > 0.99 && share <= 1);
		CHECK(fabs(mean - 1) < 0.005);
	}
	printf("  %d events%s in %llu turns: %.4f to %.4f of the instructions, mean %.4f, share "
	       "%.4f\n",
	       n, inherit ? ", inherited," : "", (unsigned long long)turns, lowest, highest, mean,
	       share);
	CHECK(lowest > 1 - tolerated && highest < 1 + tolerated);
	end_set(set);
}

static void test_more_events_than_counters_take_turns(void)
{
	for (int inherit = 0; inherit < 2; inherit++) {
		check_turns(2 * COUNTERS, inherit, 0.01);
		check_turns(10, inherit, 0.025);
	}
}

#endif

int main(void)
{
	RUN(test_instructions_by_name_and_preset);
	RUN(test_reads_resets_and_sums);
	RUN(test_another_thread_reads);
	RUN(test_attach_counts_the_target_only);
	RUN(test_inherit_counts_children);
#if defined(COUNTERS)
	RUN(test_what_does_not_fit_is_refused);
	RUN(test_more_events_than_counters_take_turns);
#endif
	return check_result;
}
