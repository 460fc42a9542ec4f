/*
 * Overflow of event sets on the kernel's own events: PAPI's behaviours 13 to 16, what is refused,
 * and that the program around it goes on.
 */
#include "overflows.h"

#include <pthread.h>
#include <sys/resource.h>

/* --- behaviours 13 to 16 ---------------------------------------------------------------------- */

static void test_overflows_are_the_total_over_the_threshold(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct gn_overflow_info info;

	for (int threshold = 1; threshold <= 1000; threshold *= 10) {
		struct seen seen = {0};
		int64_t count[2];

		OK(gn_set_overflow(set, "page-faults", threshold, 0, note, &seen));
		OK(gn_set_start(set));
		touch_in(touch_hot, PAGES);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= PAGES);
		CHECK_EQ(seen.calls, count[0] / threshold);
		CHECK_EQ(seen.weights, seen.calls * (uint64_t)threshold);
		CHECK_EQ(seen.set, set);
		CHECK_EQ(seen.tid, syscall(SYS_gettid));
		CHECK_EQ(seen.addresses, seen.calls);
		info = info_of(set, "page-faults");
		CHECK_EQ(info.overflows, seen.calls);
		CHECK_EQ(info.lost, 0);
		CHECK_EQ(info.threshold, threshold);
		CHECK_EQ(info.kind, GN_OVERFLOW_FAST);
	}
	end_set(set);
}

static void test_every_run_begins_with_a_whole_threshold(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 400, 0, note, &seen));
	for (int run = 0; run < 5; run++) {
		seen.calls = 0;
		OK(gn_set_start(set));
		touch_in(touch_hot, 700);
		OK(gn_set_stop(set, &count));
		CHECK_EQ(seen.calls, count / 400);
	}
	end_set(set);
}

static void test_a_timer_bounds_software_overflow(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct seen seen = {0};
	int64_t count[2];
	int64_t ticks;

	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	for (int i = 0; i < 20; i++) {
		touch_in(touch_hot, 100);
		burn_in_user_mode(5);
	}
	OK(gn_set_stop(set, count));
	ticks = count[1] / (int64_t)GN_OVERFLOW_TICK_NS;
	CHECK(count[0] >= 2000);
	/* Each tick finds that more than one page was touched, and says so once. */
	CHECK(seen.calls >= 1);
	CHECK((int64_t)seen.calls <= ticks + 1);
	CHECK_EQ(info_of(set, "page-faults").kind, GN_OVERFLOW_SLOW);
	CHECK_EQ(info_of(set, "page-faults").lost, -1);
	end_set(set);
}

static void test_the_event_that_overflowed_is_named(void)
{
	struct seen seen = {0};
	int64_t count[2];
	gn_set set;

	if (gn_event_available("context-switches")) {
		printf("  skipped: %s\n", gn_message());
		return;
	}
	set = set_of("context-switches", "page-faults");

	OK(gn_set_overflow(set, "page-faults", THRESHOLD, 0, note, &seen));
	OK(gn_set_overflow(set, "context-switches", 1, 0, note, &seen));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	for (int i = 0; i < 10; i++)
		usleep(1000);
	OK(gn_set_stop(set, count));
	CHECK(!strcmp(gn_set_name(set, 0), "context-switches"));
	CHECK_EQ(seen.of_event[0], count[0]);
	CHECK_EQ(seen.of_event[1], count[1] / THRESHOLD);
	/* Indices follow the set. */
	memset(&seen, 0, sizeof(seen));
	OK(gn_set_remove(set, "context-switches"));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(seen.of_event[0], count[0] / THRESHOLD);
	CHECK_EQ(seen.calls, seen.of_event[0]);
	end_set(set);
}

static void test_two_events_have_thresholds_of_their_own(void)
{
	gn_set set = set_of("page-faults", "minor-faults");
	struct seen few = {0}, many = {0};
	int64_t count[2];

	OK(gn_set_overflow(set, "page-faults", 500, 0, note, &few));
	OK(gn_set_overflow(set, "minor-faults", 7, 0, note, &many));
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(few.calls, count[0] / 500);
	CHECK_EQ(many.calls, count[1] / 7);
	/* One ends, the other goes on. */
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	few.calls = many.calls = 0;
	OK(gn_set_start(set));
	touch_in(touch_hot, PAGES);
	OK(gn_set_stop(set, count));
	CHECK_EQ(few.calls, 0);
	CHECK_EQ(many.calls, count[1] / 7);
	end_set(set);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void load_sum(void)
{
	static const char preset[] = "PRESET,T_SUM,DERIVED_ADD,page-faults,minor-faults\n";
	char path[] = "/tmp/gnomon-presets-XXXXXX";
	const int fd = mkstemp(path);
	int loaded;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, preset, sizeof(preset) - 1), sizeof(preset) - 1);
	close(fd);
	loaded = gn_presets_load(path);
	unlink(path);
	OK(loaded);
}

static void test_what_is_refused(void)
{
	static uint16_t buckets[4];
	struct gn_overflow_info info = {.size = sizeof(info)};
	struct gn_profil region = {buckets, sizeof(buckets), 0, 2};
	struct seen seen = {0};
	struct gn_options options = GN_OPTIONS_INIT;
	gn_set set, other;

	load_sum();
	set = set_of("page-faults", "task-clock");
	FAILS(gn_set_overflow(set, "cpu-clock", 1, 0, note, NULL), GN_ENOEVNT, "not in event set");
	FAILS(gn_set_overflow(set, "no-such-event", 1, 0, note, NULL), GN_ENOEVNT, "no-such-event");
	FAILS(gn_set_overflow(set, NULL, 1, 0, note, NULL), GN_EINVAL, "no name");
	FAILS(gn_set_overflow(set, "page-faults", -1, 0, note, NULL), GN_EINVAL, "threshold of -1");
	FAILS(gn_set_overflow(set, "page-faults", 1, 0, NULL, NULL), GN_EINVAL, "no handler");
	FAILS(gn_set_overflow(set, "page-faults", 1, 0x1000, note, NULL), GN_EINVAL, "0x1000");
	FAILS(gn_set_overflow(set, "page-faults", 1, GN_PROFIL_WEIGHTED, note, NULL), GN_EINVAL,
	      "0x2");
	FAILS(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE | GN_OVERFLOW_DATA, note,
			      NULL),
	      GN_EINVAL, "sees no address");
	FAILS(gn_set_overflow(set, "page-faults:pppp", 1, 0, note, NULL), GN_EINVAL, "three");
	FAILS(gn_set_overflow_info(set, "page-faults", &info), GN_ENOEVNT, "nothing waits");
	info.size = 4;
	FAILS(gn_set_overflow_info(set, "page-faults", &info), GN_EINVAL, "size");
	FAILS(gn_set_overflow(4711, "page-faults", 1, 0, note, NULL), GN_ENOEVST, "4711");
	FAILS(gn_set_sprofil(set, "page-faults", &region, 0, 1, 0), GN_EINVAL, "0 regions");
	FAILS(gn_set_sprofil(set, "page-faults", NULL, 1, 1, 0), GN_EINVAL, "regions");
	FAILS(gn_set_profil(set, "page-faults", NULL, 8, 0, 2, 1, 0), GN_EINVAL, "no room");
	FAILS(gn_set_profil(set, "page-faults", buckets, 1, 0, 2, 1, 0), GN_EINVAL, "no room");
	FAILS(gn_set_profil(set, "page-faults", (char *)buckets + 1, 4, 0, 2, 1, 0), GN_EINVAL,
	      "align");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, 1, 1, 0), GN_EINVAL, "scale of 1");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, GN_PROFIL_SCALE_MAX + 1, 1, 0),
	      GN_EINVAL, "scale of");
	FAILS(gn_set_profil(set, "page-faults", buckets, 8, 0, 2, 1,
			    GN_PROFIL_BUCKET_16 | GN_PROFIL_BUCKET_32),
	      GN_EINVAL, "several sizes");
	/* Some with a timer and some without. */
	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	FAILS(gn_set_overflow(set, "task-clock", 1000000, GN_OVERFLOW_SOFTWARE, note, NULL),
	      GN_ECNFLCT, "page-faults");
	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	/* Of several counts. */
	OK(gn_set_add(set, "T_SUM"));
	FAILS(gn_set_overflow(set, "T_SUM", 1, 0, note, NULL), GN_EINVAL, "derived");
	OK(gn_set_overflow(set, "T_SUM", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	FAILS(gn_set_overflow(set, "T_SUM", 0, 0, NULL, NULL), GN_EISRUN, "running");
	FAILS(gn_set_profil(set, "T_SUM", buckets, 8, 0, 2, 1, GN_OVERFLOW_SOFTWARE), GN_EISRUN,
	      "running");
	touch_in(touch_hot, 100);
	burn_in_user_mode(100);
	OK(gn_set_stop(set, NULL));
	CHECK(seen.of_event[2] >= 1);
	/* Where a handler cannot run, and what takes turns. */
	FAILS(gn_set_multiplex(set, 0), GN_EINVAL, "overflow");
	FAILS(gn_set_attach(set, getppid(), -1), GN_EINVAL, "overflow");
	end_set(set);
	options.multiplex = 1;
	OK(gn_set_create(&other, &options));
	OK(gn_set_add(other, "page-faults"));
	FAILS(gn_set_overflow(other, "page-faults", 1, 0, note, NULL), GN_EINVAL, "turns");
	end_set(other);
	options.multiplex = 0;
	options.inherit = 1;
	OK(gn_set_create(&other, &options));
	OK(gn_set_add(other, "page-faults"));
	FAILS(gn_set_overflow(other, "page-faults", 1, 0, note, NULL), GN_ENOSUPP, "thread");
	end_set(other);
}

static void test_components_say_how_they_overflow(void)
{
	int kernel, cpu, tsc;

	OK(gn_component_index("kernel", &kernel));
	OK(gn_component_index("cpu", &cpu));
	OK(gn_component_index("tsc", &tsc));
	CHECK_EQ(gn_component_overflow(kernel), GN_OVERFLOW_FAST);
	CHECK(gn_component_overflow(tsc) != GN_OVERFLOW_FAST);
	CHECK_EQ(gn_component_overflow(cpu) == GN_OVERFLOW_IMPOSSIBLE,
		 gn_event_available("instructions") != GN_OK);
	FAILS(gn_component_overflow(17), GN_ENOCMP, "17");
}

/* --- the program around it -------------------------------------------------------------------- */

static void test_nothing_stays_open(void)
{
	static uint16_t buckets[4];
	struct seen seen = {0};
	gn_set set = set_of("page-faults", "task-clock");
	int files = 0, maps = 0;
	FILE *file;

	for (int round = 0; round < 3; round++) {
		OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_DATA, note, &seen));
		OK(gn_set_profil(set, "task-clock", buckets, sizeof(buckets), 0, 2, 1000000, 0));
		OK(gn_set_start(set));
		OK(gn_set_stop(set, NULL));
		OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
		OK(gn_set_profil(set, "task-clock", NULL, 0, 0, 0, 0, 0));
		OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_SOFTWARE, note, &seen));
		OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
		if (!round)
			files = open_descriptors();
		CHECK_EQ(open_descriptors(), files);
	}
	OK(gn_set_overflow(set, "page-faults", 10, GN_OVERFLOW_DATA, note, &seen));
	end_set(set);
	CHECK_EQ(open_descriptors(), files - 2);
	file = fopen("/proc/self/maps", "r");
	CHECK(file);
	for (char line[512]; fgets(line, sizeof(line), file);)
		maps += strstr(line, "perf_event") != NULL;
	fclose(file);
	CHECK_EQ(maps, 0);
}

static volatile int own_calls;

static void own_handler(int number)
{
	(void)number;
	own_calls++;
}

static int handled_signals(void)
{
	struct sigaction action;
	int n = 0;

	for (int number = 1; number <= SIGRTMAX; number++)
		n += !sigaction(number, NULL, &action) && action.sa_handler != SIG_DFL;
	return n;
}

static void test_no_signal_is_taken_before_the_first_overflow(void)
{
	struct seen seen = {0};
	const int before = handled_signals();
	gn_set set = set_of("page-faults", NULL);
	int kernel;

	OK(gn_set_start(set));
	OK(gn_set_stop(set, NULL));
	OK(gn_component_index("kernel", &kernel));
	CHECK_EQ(gn_component_overflow(kernel), GN_OVERFLOW_FAST);
	FAILS(gn_set_overflow(set, "page-faults", -1, 0, note, &seen), GN_EINVAL, "threshold");
	CHECK_EQ(handled_signals(), before);
	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	/* One of its own, and SIGIO. */
	CHECK_EQ(handled_signals(), before + 2);
	end_set(set);
}

/* A program that takes our signal later has it, and its overflows too. */
static void test_handlers_of_the_program_are_called(void)
{
	struct sigaction action = {.sa_handler = own_handler};
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	int number;
	int64_t count;

	/* One that is in use already is not taken. */
	CHECK_EQ(sigaction(SIGRTMAX, &action, NULL), 0);
	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	number = info_of(set, "page-faults").signal;
	CHECK(number < SIGRTMAX && number >= SIGRTMIN);
	raise(SIGRTMAX);
	CHECK_EQ(own_calls, 1);
	CHECK_EQ(sigaction(number, &action, NULL), 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 200);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls, count / 10);
	CHECK_EQ(own_calls, 1);
	raise(number);
	CHECK_EQ(own_calls, 2);
	end_set(set);
	/* A signal of nobody ends nothing. */
	action.sa_handler = SIG_DFL;
	raise(number);
}

static void test_blocked_signals_are_counted_as_lost(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	sigset_t all, before;
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(info_of(set, "page-faults").lost, count / 10);
	/* They come when the set has stopped: nobody is told. */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	CHECK_EQ(seen.calls, 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls, count / 10);
	end_set(set);
}

static void test_a_full_queue_of_signals_ends_nothing(void)
{
	gn_set set = set_of("page-faults", NULL);
	const struct rlimit none = {0, 0};
	struct gn_estimate estimate;
	struct seen seen = {0};
	int64_t count;

	OK(gn_set_overflow(set, "page-faults", 10, 0, note, &seen));
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	OK(gn_set_start(set));
	touch_in(touch_hot, 500);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(seen.calls + (uint64_t)info_of(set, "page-faults").lost, count / 10);
	OK(gn_set_estimate(set, "page-faults", &estimate));
	CHECK(estimate.value + estimate.error >= (double)count);
	end_set(set);
}

static void *use_a_set(void *argument)
{
	struct seen *seen = argument;
	gn_set set = set_of("page-faults", NULL);
	const pid_t tid = (pid_t)syscall(SYS_gettid);

	for (int run = 0; run < 20; run++) {
		int64_t count;

		seen->calls = 0;
		OK(gn_set_overflow(set, "page-faults", 7, 0, note, seen));
		OK(gn_set_start(set));
		touch_in(touch_hot, 100);
		OK(gn_set_stop(set, &count));
		CHECK_EQ(seen->calls, count / 7);
		CHECK_EQ(seen->tid, tid);
	}
	end_set(set);
	return NULL;
}

static void test_threads_have_overflows_of_their_own(void)
{
	struct seen seen[4] = {{0}};
	pthread_t thread[4];

	for (int t = 0; t < 4; t++)
		CHECK_EQ(pthread_create(&thread[t], NULL, use_a_set, &seen[t]), 0);
	for (int t = 0; t < 4; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
}

static void *end_overflow(void *argument)
{
	const gn_set set = *(const gn_set *)argument;

	OK(gn_set_stop(set, NULL));
	OK(gn_set_overflow(set, "page-faults", 0, 0, NULL, NULL));
	return NULL;
}

static void test_another_thread_ends_it(void)
{
	gn_set set = set_of("page-faults", NULL);
	struct seen seen = {0};
	pthread_t thread;
	uint64_t calls;

	OK(gn_set_overflow(set, "page-faults", 1, 0, note, &seen));
	OK(gn_set_start(set));
	CHECK_EQ(pthread_create(&thread, NULL, end_overflow, &set), 0);
	while (gn_set_state(set) & GN_STATE_RUNNING)
		touch_in(touch_hot, 10);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	calls = seen.calls;
	touch_in(touch_hot, 100);
	CHECK_EQ(seen.calls, calls);
	end_set(set);
}

static void test_a_forked_child_is_left_alone(void)
{
	static uint16_t buckets[2];
	gn_set set = set_of("page-faults", NULL), own;
	struct seen seen = {0};
	int64_t count;
	int status;
	pid_t child;

	OK(gn_set_profil(set, "page-faults", buckets, sizeof(buckets), 0, 2, 1, 0));
	OK(gn_set_start(set));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		touch_in(touch_hot, 100);
		OK(gn_set_destroy(&set));
		own = set_of("page-faults", NULL);
		OK(gn_set_overflow(own, "page-faults", 10, 0, note, &seen));
		OK(gn_set_start(own));
		touch_in(touch_hot, 100);
		OK(gn_set_stop(own, &count));
		CHECK_EQ(seen.calls, count / 10);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	OK(gn_set_stop(set, &count));
	CHECK_EQ(buckets[0], count);
	end_set(set);
}

static void test_reading_goes_on(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	struct seen seen = {0};
	int64_t count[2], before = 0, total[2] = {0, 0};

	OK(gn_set_overflow(set, "page-faults", 1, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_overflow(set, "task-clock", 1000000, GN_OVERFLOW_SOFTWARE, note, &seen));
	OK(gn_set_start(set));
	for (int i = 0; i < 200; i++) {
		struct gn_value value[2];

		touch_in(touch_hot, 10);
		burn_ms(1);
		OK(gn_set_values(set, value));
		CHECK(value[0].raw >= before + 10);
		before = value[0].raw;
	}
	OK(gn_set_accumulate(set, total));
	CHECK(total[0] >= 2000);
	OK(gn_set_read(set, count));
	CHECK(count[0] < 100 + slack());
	OK(gn_set_stop(set, NULL));
	end_set(set);
}

int main(void)
{
	RUN(test_overflows_are_the_total_over_the_threshold);
	RUN(test_every_run_begins_with_a_whole_threshold);
	RUN(test_a_timer_bounds_software_overflow);
	RUN(test_the_event_that_overflowed_is_named);
	RUN(test_two_events_have_thresholds_of_their_own);
	RUN(test_what_is_refused);
	RUN(test_components_say_how_they_overflow);
	RUN(test_nothing_stays_open);
	RUN(test_no_signal_is_taken_before_the_first_overflow);
	RUN(test_blocked_signals_are_counted_as_lost);
	RUN(test_a_full_queue_of_signals_ends_nothing);
	RUN(test_threads_have_overflows_of_their_own);
	RUN(test_another_thread_ends_it);
	RUN(test_a_forked_child_is_left_alone);
	RUN(test_reading_goes_on);
	if (!is_emulated())
		RUN(test_handlers_of_the_program_are_called);
	return check_result;
}
