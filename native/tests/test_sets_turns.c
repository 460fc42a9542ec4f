/* Event sets whose events take turns: here by a limit, as software events always fit. */
#include "work.h"

#include <math.h>
#include <signal.h>

#define SLICE_MS (GN_SLICE_MIN_NS / 1000000)

static gn_set turning_set(int limit, int inherit)
{
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set;

	options.multiplex = 1;
	options.slice_ns = GN_SLICE_MIN_NS;
	options.limit = limit;
	options.inherit = inherit;
	OK(gn_set_create(&set, &options));
	return set;
}

/* Works until so many turns were taken and all events had one, however slow the machine is. */
static void work_for_turns(gn_set set, uint64_t wanted)
{
	struct gn_value value[8];
	uint64_t turns = 0;
	int all = 0;

	while (turns < wanted || !all) {
		touch_pages(20);
		burn_ms(SLICE_MS);
		OK(gn_set_turns(set, &turns));
		OK(gn_set_values(set, value));
		all = 1;
		for (int i = 0; i < gn_set_size(set); i++)
			all &= value[i].running_ns > 0;
	}
}

static void test_what_fits_takes_no_turns(void)
{
	gn_set set = turning_set(0, 0);
	struct gn_value value[3];
	uint64_t turns = 77;
	int64_t count[3];
	const int before = threads();

	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "task-clock"));
	OK(gn_set_add(set, "minor-faults"));
	CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED | GN_STATE_MULTIPLEXED);
	OK(gn_set_start(set));
	touch_pages(100);
	burn_ms(2 * SLICE_MS);
	OK(gn_set_turns(set, &turns));
	CHECK_EQ(turns, 0);
	CHECK_EQ(threads(), before);
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 100);
	OK(gn_set_values(set, value));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(value[i].how, GN_HOW_COUNTED);
		CHECK_EQ(value[i].flags, 0);
	}
	end_set(set);
}

static void test_turns_are_taken_and_scaled(void)
{
	static const char *const names[] = {"task-clock", "cpu-clock", "page-faults",
					    "minor-faults"};
	gn_set set = turning_set(2, 0);
	struct gn_value value[4];
	int64_t count[4];
	int added;

	OK(gn_set_add_all(set, names, 4, &added));
	CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED | GN_STATE_MULTIPLEXED | GN_STATE_ROTATING);
	for (int run = 0; run < 2; run++) {
		uint64_t enabled = 0;

		OK(gn_set_start(set));
		work_for_turns(set, 10);
		OK(gn_set_read(set, count));
		for (int i = 0; i < 4; i++)
			CHECK(count[i] >= 0);
		OK(gn_set_stop(set, count));
		OK(gn_set_values(set, value));
		for (int i = 0; i < 4; i++) {
			CHECK_EQ(value[i].how, GN_HOW_SCALED);
			CHECK(value[i].running_ns > 0);
			CHECK(value[i].running_ns < value[i].enabled_ns);
			CHECK(value[i].scale > 1);
			CHECK(!(value[i].flags & GN_VALUE_MISSING));
			CHECK_EQ(count[i], llround((double)value[i].raw * value[i].scale));
			CHECK(!enabled || enabled == value[i].enabled_ns);
			enabled = value[i].enabled_ns;
		}
		/* Both of a group ran at the same time, and the groups one after the other. */
		CHECK_EQ(value[0].running_ns, value[1].running_ns);
		CHECK_EQ(value[2].running_ns, value[3].running_ns);
		CHECK(value[0].running_ns + value[2].running_ns <= enabled);
		/* The whole time, to a tenth, from the half for which it was counted. */
		CHECK(fabs(value[0].value - (double)enabled) < 0.1 * (double)enabled);
	}
	end_set(set);
}

static void test_a_run_shorter_than_a_slice(void)
{
	gn_set set = turning_set(1, 0);
	struct gn_value value[3];
	int64_t count[3], total[3] = {5, 5, 5};

	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "task-clock"));
	OK(gn_set_add(set, "minor-faults"));
	/* A busy machine may take long between two calls: then once more. */
	for (int again = 0; again < 100; again++) {
		uint64_t turns;

		OK(gn_set_start(set));
		OK(gn_set_turns(set, &turns));
		OK(gn_set_stop(set, count));
		OK(gn_set_values(set, value));
		if (value[1].running_ns == 0 && value[2].running_ns == 0)
			break;
	}
	for (int i = 1; i < 3; i++) {
		CHECK_EQ(count[i], GN_NO_COUNT);
		CHECK(value[i].flags & GN_VALUE_MISSING);
		CHECK(isnan(value[i].value));
		CHECK(isnan(value[i].scale));
		CHECK(value[i].enabled_ns > 0);
	}
	CHECK(count[0] >= 0);
	CHECK(value[0].flags & GN_VALUE_SHORT);
	OK(gn_set_accumulate(set, total));
	CHECK(total[0] >= 5);
	CHECK_EQ(total[1], GN_NO_COUNT);
	end_set(set);
}

static void test_groups_in_braces_stay_together(void)
{
	gn_set set = turning_set(2, 0);
	struct gn_value value[5];

	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "{task-clock,cpu-clock}"));
	OK(gn_set_add(set, "minor-faults"));
	OK(gn_set_add(set, "{major-faults,alignment-faults}"));
	/* The third event found room beside the first. */
	OK(gn_set_remove(set, "major-faults"));
	CHECK_EQ(gn_set_size(set), 5);
	OK(gn_set_start(set));
	work_for_turns(set, 5);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, value));
	CHECK_EQ(value[0].running_ns, value[3].running_ns);
	CHECK_EQ(value[1].running_ns, value[2].running_ns);
	CHECK(value[0].running_ns != value[1].running_ns);
	end_set(set);
}

static void test_multiplexing_comes_later_too(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	int64_t count[2];

	OK(gn_set_start(set));
	touch_pages(50);
	OK(gn_set_stop(set, NULL));
	FAILS(gn_set_multiplex(set, GN_SLICE_MAX_NS + 1), GN_EINVAL, "slice");
	OK(gn_set_multiplex(set, 0));
	CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED | GN_STATE_MULTIPLEXED);
	OK(gn_set_read(set, count));
	CHECK(count[0] >= 50);
	OK(gn_set_start(set));
	touch_pages(60);
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 60);
	CHECK(count[0] < 1000);
	end_set(set);
}

static void test_inherited_turns(void)
{
	gn_set set = turning_set(1, 1);
	struct gn_value value[2];
	pid_t child;
	int status;

	OK(gn_set_add(set, "task-clock"));
	OK(gn_set_add(set, "cpu-clock"));
	OK(gn_set_start(set));
	child = fork();
	if (!child) {
		burn_ms(12 * SLICE_MS);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, value));
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value[i].how, GN_HOW_SCALED);
		CHECK(value[i].running_ns > 0);
		CHECK(value[i].running_ns < value[i].enabled_ns);
		/* The child's time, not that of the thread that turns or of this one. */
		CHECK(value[i].enabled_ns >= 6 * SLICE_MS * 1000000);
	}
	end_set(set);
}

static void test_a_child_does_not_turn(void)
{
	gn_set set = turning_set(1, 0);
	int64_t count[2];
	pid_t child;
	int status;

	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "task-clock"));
	OK(gn_set_start(set));
	child = fork();
	if (!child) {
		const int files = open_descriptors();

		CHECK_EQ(threads(), 3); /* two of which are . and .. */
		FAILS(gn_set_read(set, count), GN_ENOEVST, "forked");
		OK(gn_set_destroy(&set));
		CHECK_EQ(open_descriptors(), files - 3);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	/* Where others have the CPU, all of a turn may pass without us. */
	count[0] = count[1] = 0;
	for (uint64_t turns = 4; count[0] < 0 || count[1] <= 0; turns += 2) {
		work_for_turns(set, turns);
		OK(gn_set_read(set, count));
	}
	OK(gn_set_stop(set, count));
	end_set(set);
}

static void test_turns_leave_nothing(void)
{
	const int files = open_descriptors(), before = threads();

	for (unsigned int i = 0; i < check_work(1000); i++) {
		gn_set set = turning_set(1, i % 2);

		OK(gn_set_add(set, "page-faults"));
		OK(gn_set_add(set, "task-clock"));
		OK(gn_set_start(set));
		OK(gn_set_stop(set, NULL));
		end_set(set);
	}
	CHECK_EQ(open_descriptors(), files);
	CHECK_EQ(threads(), before);
}

static void test_signals_do_not_reach_the_turning_thread(void)
{
	gn_set set = turning_set(1, 0);
	sigset_t blocked;
	int received;

	/* A signal to the process that this thread has blocked stays pending, and kills nobody. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "task-clock"));
	OK(gn_set_start(set));
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	burn_ms(2 * SLICE_MS);
	CHECK_EQ(sigwait(&blocked, &received), 0);
	CHECK_EQ(received, SIGUSR1);
	OK(gn_set_stop(set, NULL));
	end_set(set);
}

int main(void)
{
	RUN(test_what_fits_takes_no_turns);
	RUN(test_turns_are_taken_and_scaled);
	RUN(test_a_run_shorter_than_a_slice);
	RUN(test_groups_in_braces_stay_together);
	RUN(test_multiplexing_comes_later_too);
	RUN(test_inherited_turns);
	RUN(test_a_child_does_not_turn);
	RUN(test_turns_leave_nothing);
	RUN(test_signals_do_not_reach_the_turning_thread);
	return check_result;
}
