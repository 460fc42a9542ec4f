/* Event sets: what has no count says so, and an event that comes late has no past. */
#include "work.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void check_missing(const struct gn_value *value, int64_t count)
{
	CHECK_EQ(count, GN_NO_COUNT);
	CHECK(value->flags & GN_VALUE_MISSING);
	CHECK(isnan(value->value));
	CHECK(isnan(value->scale));
	CHECK_EQ(value->enabled_ns, 0);
	CHECK_EQ(value->running_ns, 0);
}

/* A run of some time, then an event more: whether one group is read, or each event. */
static void add_after_a_run(const struct gn_options *options)
{
	static const char *const late[] = {"minor-faults", "task-clock"};
	struct gn_value value[3];
	int64_t first, count[3];
	gn_set set;

	OK(gn_set_create(&set, options));
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_start(set));
	burn_ms(50);
	touch_pages(300);
	OK(gn_set_stop(set, &first));
	for (int i = 0; i < 2; i++) {
		const int64_t begin = gn_real_ns();
		int64_t most_ns;

		OK(gn_set_add(set, late[i]));
		OK(gn_set_read(set, count));
		OK(gn_set_values(set, value));
		CHECK_EQ(count[0], i ? count[0] : first);
		CHECK(!(value[0].flags & GN_VALUE_MISSING));
		check_missing(&value[i + 1], count[i + 1]);
		OK(gn_set_reset(set));
		OK(gn_set_read(set, count));
		CHECK_EQ(count[0], 0);
		CHECK_EQ(count[i + 1], GN_NO_COUNT);
		count[i + 1] = 7;
		OK(gn_set_accumulate(set, count));
		CHECK_EQ(count[i + 1], GN_NO_COUNT);
		OK(gn_set_start(set));
		touch_pages(200);
		OK(gn_set_read(set, count));
		CHECK(count[1] >= 200 && count[1] < 1000);
		OK(gn_set_stop(set, count));
		most_ns = gn_real_ns() - begin;
		OK(gn_set_values(set, value));
		for (int k = 0; k < i + 2; k++) {
			CHECK(!(value[k].flags & GN_VALUE_MISSING));
			CHECK_EQ(value[k].how, GN_HOW_COUNTED);
			CHECK_EQ(value[k].enabled_ns, value[k].running_ns);
			CHECK(value[k].enabled_ns > 0 && (int64_t)value[k].enabled_ns <= most_ns);
			/* One group has one time. */
			CHECK(value[k].enabled_ns == value[0].enabled_ns || options->inherit);
		}
		CHECK_ABOUT(count[1], count[0]);
	}
	end_set(set);
}

static void test_an_event_that_comes_late_has_no_past(void)
{
	struct gn_options options = GN_OPTIONS_INIT;

	add_after_a_run(&options);
	options.inherit = 1;
	add_after_a_run(&options);
	options.inherit = 0;
	options.multiplex = 1;
	add_after_a_run(&options);
}

static void test_a_set_that_never_started_has_nothing_to_read(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct gn_value value[2];
	int64_t count[2] = {11, 12}, ns = 13;

	for (int round = 0; round < 2; round++) {
		FAILS(gn_set_read(set, count), GN_ENOTRUN, "never started");
		FAILS(gn_set_read_at(set, count, &ns), GN_ENOTRUN, "never started");
		FAILS(gn_set_values(set, value), GN_ENOTRUN, "gn_set_start");
		FAILS(gn_set_accumulate(set, count), GN_ENOTRUN, "never started");
		CHECK(count[0] == 11 && count[1] == 12 && ns == 13);
		OK(gn_set_reset(set));
		OK(gn_set_start(set));
		OK(gn_set_read(set, count));
		OK(gn_set_stop(set, NULL));
		OK(gn_set_read_at(set, count, &ns));
		OK(gn_set_values(set, value));
		OK(gn_set_accumulate(set, count));
		/* A set that was cleared is as good as new. */
		OK(gn_set_clear(set));
		OK(gn_set_add(set, "page-faults"));
		OK(gn_set_add(set, "task-clock"));
		count[0] = 11;
		count[1] = 12;
		ns = 13;
	}
	end_set(set);
}

static void *make_set(void *argument)
{
	*(gn_set *)argument = set_of("page-faults", NULL);
	return NULL;
}

static void *make_and_run_set(void *argument)
{
	make_set(argument);
	OK(gn_set_start(*(gn_set *)argument));
	touch_pages(90);
	OK(gn_set_stop(*(gn_set *)argument, NULL));
	return NULL;
}

static void test_the_set_of_a_thread_that_has_ended(void)
{
	for (int ran = 0; ran < 2; ran++) {
		gn_set set;
		pthread_t thread;
		int64_t count;

		CHECK_EQ(pthread_create(&thread, NULL, ran ? make_and_run_set : make_set, &set), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		FAILS(gn_set_start(set), GN_ESYS, "has ended");
		CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED);
		/* What it counted while the thread lived is still there. */
		if (ran) {
			OK(gn_set_read(set, &count));
			CHECK(count >= 90 && count < 1000);
		} else {
			FAILS(gn_set_read(set, &count), GN_ENOTRUN, "never started");
		}
		OK(gn_set_attach(set, getpid(), -1));
		OK(gn_set_start(set));
		touch_pages(60);
		OK(gn_set_stop(set, &count));
		CHECK(count >= 60);
		end_set(set);
	}
}

static void end_sleeper(pid_t child, int reap)
{
	siginfo_t info;

	CHECK_EQ(kill(child, SIGKILL), 0);
	/* Ended for good, with or without its number given back. */
	CHECK_EQ(waitid(P_PID, (id_t)child, &info, WEXITED | (reap ? 0 : WNOWAIT)), 0);
}

static void test_a_process_that_has_ended(void)
{
	for (int reap = 0; reap < 2; reap++) {
		const pid_t child = make_sleeper();
		int64_t count;
		gn_set set;

		OK(gn_set_create(&set, NULL));
		OK(gn_set_attach(set, child, -1));
		OK(gn_set_add(set, "page-faults"));
		OK(gn_set_start(set));
		OK(gn_set_stop(set, &count));
		CHECK(count != GN_NO_COUNT);
		end_sleeper(child, reap);
		FAILS(gn_set_start(set), GN_ESYS, "has ended");
		/* Nothing stays claimed. */
		OK(gn_set_detach(set));
		OK(gn_set_start(set));
		OK(gn_set_stop(set, &count));
		CHECK(count != GN_NO_COUNT);
		end_set(set);
		if (!reap)
			end_sleeper(child, 1);
	}
}

/* What such a process has made may live on, and is counted: only the values can tell. */
static void test_a_process_that_has_ended_and_what_it_inherited_to(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	const pid_t child = make_sleeper();
	struct gn_value value;
	int64_t count;
	gn_set set;

	options.inherit = 1;
	options.pid = child;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	end_sleeper(child, 1);
	OK(gn_set_start(set));
	OK(gn_set_read(set, &count));
	CHECK_EQ(count, GN_NO_COUNT);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(count, GN_NO_COUNT);
	OK(gn_set_values(set, &value));
	check_missing(&value, count);
	end_set(set);
}

/* Nothing happened to it, and that is a count. */
static void test_a_process_that_sleeps(void)
{
	const pid_t child = make_sleeper();
	int64_t count;
	gn_set set;

	OK(gn_set_create(&set, NULL));
	OK(gn_set_attach(set, child, -1));
	OK(gn_set_add(set, "cpu-migrations"));
	OK(gn_set_start(set));
	OK(gn_set_stop(set, &count));
	CHECK(count != GN_NO_COUNT);
	end_set(set);
	end_sleeper(child, 1);
}

int main(void)
{
	RUN(test_an_event_that_comes_late_has_no_past);
	RUN(test_a_set_that_never_started_has_nothing_to_read);
	RUN(test_the_set_of_a_thread_that_has_ended);
	RUN(test_a_process_that_has_ended);
	RUN(test_a_process_that_has_ended_and_what_it_inherited_to);
	RUN(test_a_process_that_sleeps);
	return check_result;
}
