/* Event sets: what they count, and what they refuse. */
#include "work.h"

#include <sys/resource.h>

static void test_counts_are_linear_in_work(void)
{
	gn_set set = set_of("page-faults", "task-clock");
	int64_t count[2], few = 0;

	for (int pages = 100; pages <= 600; pages += 500) {
		touch_pages(10); /* what a first call faults in beside its pages */
		OK(gn_set_start(set));
		touch_pages((size_t)pages);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= pages);
		CHECK(count[1] > 0);
		if (pages == 600)
			CHECK_ABOUT(count[0] - few, 500);
		few = count[0];
	}
	end_set(set);
}

static void test_reads_increase_and_reset_restarts(void)
{
	static const char *const names[][2] = {{"page-faults", NULL},
					       {"page-faults", "minor-faults"}};

	for (int n = 0; n < 2; n++) {
		gn_set set = set_of(names[n][0], names[n][1]);
		int64_t count[2], before = 0;

		OK(gn_set_start(set));
		for (int i = 0; i < 3; i++) {
			touch_pages(50);
			OK(gn_set_read(set, count));
			CHECK(count[0] >= before + 50);
			before = count[0];
		}
		OK(gn_set_reset(set));
		OK(gn_set_read(set, count));
		CHECK_ABOUT(count[0], 0);
		touch_pages(70);
		OK(gn_set_stop(set, count));
		CHECK(count[0] >= 70);
		CHECK_ABOUT(count[0], 70);
		/* The set stands: it says what it counted, until it is reset. */
		touch_pages(20);
		before = count[0];
		OK(gn_set_read(set, count));
		CHECK_EQ(count[0], before);
		OK(gn_set_reset(set));
		OK(gn_set_read(set, count));
		CHECK_EQ(count[0], 0);
		end_set(set);
	}
}

static void test_start_zeroes(void)
{
	gn_set set = set_of("page-faults", "minor-faults");
	int64_t count[2], first = 0;

	for (int run = 0; run < 3; run++) {
		touch_pages(30);
		OK(gn_set_start(set));
		touch_pages(80);
		OK(gn_set_stop(set, count));
		if (run == 2)
			CHECK_ABOUT(count[0], first);
		first = count[0];
		CHECK_ABOUT(count[0], count[1]);
	}
	end_set(set);
}

static void test_accumulate_adds_then_resets(void)
{
	static const char *const names[][2] = {{"page-faults", NULL},
					       {"page-faults", "minor-faults"}};

	for (int n = 0; n < 2; n++) {
		gn_set set = set_of(names[n][0], names[n][1]);
		int64_t total[2] = {1000, 1000}, count[2];

		OK(gn_set_start(set));
		touch_pages(40);
		OK(gn_set_accumulate(set, total));
		CHECK(total[0] >= 1040);
		CHECK_ABOUT(total[0], 1040);
		OK(gn_set_read(set, count));
		CHECK_ABOUT(count[0], 0);
		touch_pages(60);
		OK(gn_set_stop(set, count));
		OK(gn_set_accumulate(set, total));
		CHECK(total[0] >= 1100);
		CHECK_ABOUT(total[0], 1100);
		OK(gn_set_accumulate(set, total));
		CHECK_ABOUT(total[0], 1100);
		total[0] = INT64_MAX;
		OK(gn_set_start(set));
		touch_pages(5);
		OK(gn_set_accumulate(set, total));
		CHECK_EQ(total[0], INT64_MAX);
		OK(gn_set_stop(set, NULL));
		end_set(set);
	}
}

static void expect_names(gn_set set, const char *const *names, int n)
{
	uint32_t codes[8];
	int listed = 8;

	CHECK_EQ(gn_set_size(set), n);
	OK(gn_set_list(set, codes, &listed));
	CHECK_EQ(listed, n);
	for (int i = 0; i < n; i++)
		CHECK(!strcmp(gn_set_name(set, i), names[i]));
}

static void test_remove_keeps_order_and_counts(void)
{
	static const char *const all[] = {"page-faults", "task-clock", "minor-faults",
					  "cpu-migrations"};
	static const char *const left[][3] = {
		{"task-clock", "minor-faults", "cpu-migrations"}, /* without the leader */
		{"page-faults", "minor-faults", "cpu-migrations"},
		{"page-faults", "task-clock", "cpu-migrations"},
		{"page-faults", "task-clock", "minor-faults"},
	};

	for (int out = 0; out < 4; out++) {
		int64_t before[4], count[4];
		const int files = open_descriptors();
		gn_set set;
		int added;

		OK(gn_set_create(&set, NULL));
		OK(gn_set_add_all(set, all, 4, &added));
		CHECK_EQ(added, 4);
		OK(gn_set_start(set));
		touch_pages(100);
		OK(gn_set_stop(set, before));
		OK(gn_set_remove(set, all[out]));
		expect_names(set, left[out], 3);
		CHECK_EQ(open_descriptors(), files + 3);
		OK(gn_set_read(set, count));
		for (int i = 0; i < 3; i++)
			CHECK_EQ(count[i], before[i + (i >= out)]);
		OK(gn_set_start(set));
		touch_pages(100);
		OK(gn_set_stop(set, count));
		for (int i = 0; i < 3; i++) {
			if (strstr(left[out][i], "faults"))
				CHECK(count[i] >= 100 && count[i] < 1000);
		}
		OK(gn_set_add(set, all[out]));
		CHECK(!strcmp(gn_set_name(set, 3), all[out]));
		for (int i = 0; i < 4; i++)
			OK(gn_set_remove(set, all[i]));
		CHECK_EQ(gn_set_size(set), 0);
		CHECK_EQ(open_descriptors(), files);
		OK(gn_set_destroy(&set));
	}
}

static void test_values_are_typed(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	struct gn_value value[3];
	gn_set set = set_of("task-clock", "page-faults");

	OK(gn_set_start(set));
	touch_pages(10);
	/* The kernel's accounting of CPU time and its events differ by what a switch takes. */
	burn_ms(2);
	OK(gn_set_values(set, value));
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, value));
	CHECK(!strcmp(value[0].unit, "ns"));
	CHECK(value[0].value == (double)value[0].raw);
	CHECK(value[0].raw > 1000000);
	CHECK(!strcmp(value[1].unit, ""));
	CHECK(value[1].value >= 10);
	CHECK((double)value[1].raw == value[1].value);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value[i].how, GN_HOW_COUNTED);
		CHECK_EQ(value[i].flags, 0);
		CHECK_EQ(value[i].domain, GN_DOMAIN_ALL);
		CHECK(value[i].scale == 1);
		CHECK_EQ(value[i].enabled_ns, value[i].running_ns);
		CHECK(value[i].enabled_ns >= 1000000);
	}
	end_set(set);

	options.domain = GN_DOMAIN_USER;
	OK(gn_set_create(&set, &options));
	OK(gn_set_add(set, "page-faults"));
	OK(gn_set_add(set, "context-switches"));
	OK(gn_set_add(set, "cpu-clock"));
	OK(gn_set_start(set));
	touch_pages(10);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_values(set, value));
	CHECK_EQ(value[0].domain, GN_DOMAIN_USER);
	CHECK_EQ(value[0].flags, 0);
	CHECK_EQ(value[1].flags, GN_VALUE_KERNEL_ONLY);
	CHECK_EQ(value[1].raw, 0);
	CHECK_EQ(value[2].domain, GN_DOMAIN_ALL);
	end_set(set);
}

/* User plus kernel mode equals all: the faults of a write are user mode's, those of read(2) not. */
static void test_domains_add_up(void)
{
	static const int domains[] = {GN_DOMAIN_USER, GN_DOMAIN_KERNEL,
				      GN_DOMAIN_USER | GN_DOMAIN_KERNEL};
	int64_t count[3];

	for (int i = 0; i < 3; i++) {
		struct gn_options options = GN_OPTIONS_INIT;
		gn_set set;

		options.domain = domains[i];
		OK(gn_set_create(&set, &options));
		if (gn_set_add(set, "page-faults") == GN_EPERM) {
			printf("  may not count the kernel here\n");
			return;
		}
		touch_pages(200);
		OK(gn_set_start(set));
		touch_pages(200);
		OK(gn_set_stop(set, &count[i]));
		end_set(set);
	}
	CHECK(count[0] >= 200);
	CHECK_ABOUT(count[1], 0);
	CHECK_ABOUT(count[0] + count[1], count[2]);
}

static void test_wrong_names_resolve_to_nothing(void)
{
	static const char *const wrong[] = {"", "no-such-event", "page-faultsx", "PAPI_NO_SUCH",
					    "page-faults:q"};
	static const char *const list[] = {"page-faults", "no-such-event", "task-clock"};
	const int files = open_descriptors();
	gn_set set;
	int added;

	OK(gn_set_create(&set, NULL));
	FAILS(gn_set_add(set, wrong[0]), GN_EINVAL, "no name");
	FAILS(gn_set_add(set, NULL), GN_EINVAL, "no name");
	for (int i = 1; i < 5; i++)
		FAILS(gn_set_add(set, wrong[i]), GN_ENOEVNT, wrong[i]);
	CHECK_EQ(gn_set_size(set), 0);
	FAILS(gn_set_add_all(set, list, 3, &added), GN_ENOEVNT, "no-such-event");
	CHECK_EQ(added, 1);
	CHECK_EQ(gn_set_size(set), 1);
	FAILS(gn_set_add_code(set, 0x7ffffff0), GN_ENOEVNT, "code");
	FAILS(gn_set_add(set, "{page-faults"), GN_EINVAL, "brace");
	FAILS(gn_set_add(set, "{task-clock,}"), GN_EINVAL, "empty name");
	/* All of a group or none. */
	FAILS(gn_set_add(set, "{task-clock,no-such-event}"), GN_ENOEVNT, "no-such-event");
	FAILS(gn_set_add(set, "{task-clock,page-faults}"), GN_ECNFLCT, "page-faults");
	FAILS(gn_set_add(set, "{task-clock,task-clock}"), GN_ECNFLCT, "task-clock");
	CHECK_EQ(gn_set_size(set), 1);
	CHECK_EQ(open_descriptors(), files + 1);
	OK(gn_set_add(set, "{task-clock, minor-faults}"));
	CHECK_EQ(gn_set_size(set), 3);
	OK(gn_set_remove(set, "{task-clock,minor-faults}"));
	CHECK_EQ(gn_set_size(set), 1);
	end_set(set);
	FAILS(gn_event_available("no-such-event"), GN_ENOEVNT, "no-such-event");
	OK(gn_event_available("page-faults"));
	CHECK_EQ(open_descriptors(), files);
}

static void test_conditions_of_sets(void)
{
	struct gn_options options = GN_OPTIONS_INIT;
	int64_t count[2] = {0, 0};
	gn_set set, other, dead;
	int n = -1;

	FAILS(gn_set_create(NULL, NULL), GN_EINVAL, "handle");
	options.domain = 8;
	FAILS(gn_set_create(&set, &options), GN_EINVAL_DOM, "domain 8");
	CHECK_EQ(set, GN_SET_NULL);
	options.domain = 0;
	options.granularity = 9;
	FAILS(gn_set_create(&set, &options), GN_EINVAL, "granularity 9");
	options.granularity = GN_GRANULARITY_CPU;
	FAILS(gn_set_create(&set, &options), GN_EINVAL, "CPU");
	options = (struct gn_options)GN_OPTIONS_INIT;
	options.multiplex = 1;
	options.slice_ns = GN_SLICE_MIN_NS - 1;
	FAILS(gn_set_create(&set, &options), GN_EINVAL, "slice");
	options = (struct gn_options){0};
	FAILS(gn_set_create(&set, &options), GN_EINVAL, "GN_OPTIONS_INIT");

	OK(gn_set_create(&set, NULL));
	CHECK_EQ(gn_set_state(set), GN_STATE_STOPPED);
	FAILS(gn_set_start(set), GN_ENOCMP, "empty");
	FAILS(gn_set_stop(set, count), GN_ENOTRUN, "not running");
	FAILS(gn_set_remove(set, "page-faults"), GN_EINVAL, "page-faults");
	FAILS(gn_set_remove(set, "no-such-event"), GN_ENOEVNT, "no-such-event");
	OK(gn_set_add(set, "page-faults"));
	FAILS(gn_set_add(set, "page-faults"), GN_ECNFLCT, "already");
	FAILS(gn_set_read(set, NULL), GN_EINVAL, "no room");
	FAILS(gn_set_list(set, NULL, &n), GN_EINVAL, "room");
	FAILS(gn_set_write(set, count), GN_ENOSUPP, "cannot be set");
	CHECK(!gn_set_name(set, 1));
	FAILS(gn_set_destroy(&set), GN_EINVAL, "clear");

	OK(gn_set_start(set));
	CHECK_EQ(gn_set_state(set), GN_STATE_RUNNING);
	FAILS(gn_set_start(set), GN_EISRUN, "running");
	FAILS(gn_set_add(set, "minor-faults"), GN_EISRUN, "running");
	FAILS(gn_set_remove(set, "page-faults"), GN_EISRUN, "running");
	FAILS(gn_set_clear(set), GN_EISRUN, "running");
	FAILS(gn_set_destroy(&set), GN_EISRUN, "running");
	FAILS(gn_set_attach(set, 1, -1), GN_EISRUN, "running");
	FAILS(gn_set_multiplex(set, 0), GN_EISRUN, "running");
	FAILS(gn_set_write(set, count), GN_ENOSUPP, "cannot be set");
	other = set_of("minor-faults", NULL);
	FAILS(gn_set_start(other), GN_EISRUN, "another set");
	OK(gn_set_stop(set, NULL));
	OK(gn_set_start(other));
	FAILS(gn_set_start(set), GN_EISRUN, "another set");
	OK(gn_set_stop(other, count));
	end_set(other);

	OK(gn_set_clear(set));
	FAILS(gn_set_start(set), GN_EINVAL, "empty");
	dead = set;
	OK(gn_set_destroy(&set));
	FAILS(gn_set_destroy(&dead), GN_ENOEVST, "event set");
	FAILS(gn_set_start(dead), GN_ENOEVST, "event set");
	CHECK_EQ(gn_set_size(dead), GN_ENOEVST);
	CHECK_EQ(gn_set_state(dead), GN_ENOEVST);
	CHECK_EQ(gn_set_add(dead, "page-faults"), GN_ENOEVST);
	CHECK_EQ(gn_set_read(dead, count), GN_ENOEVST);
	CHECK_EQ(gn_set_values(dead, NULL), GN_ENOEVST);
	CHECK_EQ(gn_set_reset(GN_SET_NULL), GN_ENOEVST);
	CHECK_EQ(gn_set_clear(0), GN_ENOEVST);
	CHECK_EQ(gn_set_accumulate(INT32_MAX, count), GN_ENOEVST);
	CHECK_EQ(gn_set_stop(INT32_MIN, count), GN_ENOEVST);
	CHECK(!gn_set_name(dead, 0));
	/* The next sets do not get its handle. */
	for (int i = 0; i < 3000; i++) {
		OK(gn_set_create(&other, NULL));
		CHECK(other != dead);
		OK(gn_set_destroy(&other));
	}
}

static void test_an_alias_is_no_second_event(void)
{
	static const char *const names[][2] = {
		{"page-faults", "faults"},
		{"faults", "perf::PAGE-FAULTS"},
		{"perf::PERF_COUNT_SW_PAGE_FAULTS", "perf::faults"},
		{"perf::TASK-CLOCK", "task-clock"},
		{"cs:u", "context-switches:u"},
		{"perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", "minor-faults"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char braces[128], by[128];
		gn_set set = set_of(names[i][0], "cpu-migrations");
		struct gn_value value[2];

		snprintf(by, sizeof(by), "'%s': it is in the set already, by the name '%s'",
			 names[i][1], names[i][0]);
		FAILS(gn_set_add(set, names[i][1]), GN_ECNFLCT, by);
		FAILS(gn_set_add(set, names[i][0]), GN_ECNFLCT, "in the set already; read it");
		CHECK_EQ(gn_set_size(set), 2);
		OK(gn_set_start(set));
		touch_pages(100);
		OK(gn_set_stop(set, NULL));
		OK(gn_set_values(set, value));
		CHECK(!strcmp(value[0].unit, strstr(names[i][1], "clock") ? "ns" : ""));
		CHECK(strstr(names[i][1], "cs") || strstr(names[i][1], "context") ||
		      value[0].raw >= 100);
		/* Out by one name or the other, and in again. */
		OK(gn_set_remove(set, names[i][1]));
		CHECK_EQ(gn_set_size(set), 1);
		OK(gn_set_add(set, names[i][1]));
		end_set(set);
		OK(gn_set_create(&set, NULL));
		snprintf(braces, sizeof(braces), "{%s,%s}", names[i][0], names[i][1]);
		FAILS(gn_set_add(set, braces), GN_ECNFLCT, "by the name");
		CHECK_EQ(gn_set_size(set), 0);
		/* Other modes are other events. */
		OK(gn_set_add(set, "faults:u"));
		OK(gn_set_add(set, "page-faults"));
		end_set(set);
	}
}

static void test_errors_have_papis_names(void)
{
	CHECK(!strcmp(gn_error_name(GN_OK), "PAPI_OK"));
	CHECK(!strcmp(gn_error_name(GN_ENOEVNT), "PAPI_ENOEVNT"));
	CHECK(!strcmp(gn_error_name(-24), "PAPI_ECOMBO"));
	CHECK(!strcmp(gn_error_name(-25), "unknown"));
	CHECK(!strcmp(gn_error_name(1), "unknown"));
	CHECK(!strcmp(gn_error_name(INT32_MIN), "unknown"));
	for (int error = 0; error >= -24; error--) {
		CHECK(!strncmp(gn_error_name(error), "PAPI_", 5));
		CHECK(strlen(gn_error_text(error)) > 3);
	}
	CHECK_EQ(gn_version(), GN_VERSION);
}

static void test_many_sets_at_once(void)
{
	enum { N = 3000 };
	static gn_set set[N];
	struct rlimit few;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < N; i++)
		OK(gn_set_create(&set[i], NULL));
	for (int i = 0; i < N; i++) {
		for (int k = i + 1; k < N && k < i + 3; k++)
			CHECK(set[i] != set[k]);
		CHECK_EQ(gn_set_size(set[i]), 0);
	}
	for (int i = 0; i < N; i += 2)
		OK(gn_set_destroy(&set[i]));
	for (int i = 1; i < N; i += 2)
		CHECK_EQ(gn_set_state(set[i]), GN_STATE_STOPPED);
	for (int i = 1; i < N; i += 2)
		OK(gn_set_destroy(&set[i]));
}

static void test_nothing_leaks(void)
{
	const unsigned int loops = check_work(100000);
	int64_t count[2];
	int files = 0, running = 0;

	for (unsigned int i = 0; i < loops + 10; i++) {
		gn_set set = set_of("page-faults", "task-clock");

		if (i % 10 == 0) {
			OK(gn_set_start(set));
			OK(gn_set_stop(set, count));
		}
		end_set(set);
		if (i == 9) {
			files = open_descriptors();
			running = threads();
		}
	}
	CHECK_EQ(open_descriptors(), files);
	CHECK_EQ(threads(), running);
}

static void test_out_of_descriptors(void)
{
	static const char *const names[] = {"page-faults", "task-clock", "minor-faults",
					    "cpu-clock"};
	struct rlimit few;
	gn_set set = set_of(names[0], NULL);
	int filler, last;
	int64_t count[3];

	/* Room for two more. */
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
	few.rlim_cur = 40;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	last = 0;
	while ((filler = dup(0)) >= 0)
		last = filler;
	close(last);
	close(last - 1);
	FAILS(gn_set_add(set, "{task-clock,minor-faults,cpu-clock}"), GN_ECOUNT, "open files");
	CHECK_EQ(gn_set_size(set), 1);
	for (int i = 1; i < 3; i++)
		OK(gn_set_add(set, names[i]));
	FAILS(gn_set_add(set, names[3]), GN_ECOUNT, "open files");
	CHECK_EQ(gn_set_size(set), 3);
	OK(gn_set_start(set));
	touch_pages(10);
	OK(gn_set_stop(set, count));
	CHECK(count[0] >= 10);
	/* There is no room to open the rest anew without its leader. */
	OK(gn_set_remove(set, names[0]));
	expect_names(set, names + 1, 2);
	OK(gn_set_start(set));
	touch_pages(10);
	OK(gn_set_stop(set, count));
	CHECK(count[1] >= 10 && count[1] < 1000);
	OK(gn_set_remove(set, names[1]));
	OK(gn_set_remove(set, names[2]));
	OK(gn_set_add(set, names[0]));
	OK(gn_set_add(set, names[1]));
	OK(gn_set_add(set, names[2]));
	end_set(set);
}

static void test_pinned_and_exclusive_software_events_count(void)
{
	for (int i = 0; i < 2; i++) {
		struct gn_options options = GN_OPTIONS_INIT;
		int64_t count;
		gn_set set;

		options.pinned = i == 0;
		options.exclusive = i == 1;
		OK(gn_set_create(&set, &options));
		OK(gn_set_add(set, "page-faults"));
		OK(gn_set_start(set));
		touch_pages(50);
		OK(gn_set_stop(set, &count));
		CHECK(count >= 50);
		end_set(set);
	}
}

static void test_time_stamps_are_of_the_read(void)
{
	gn_set set = set_of("page-faults", NULL);
	int64_t count, at, before, after;

	OK(gn_set_start(set));
	before = gn_real_ns();
	OK(gn_set_read_at(set, &count, &at));
	after = gn_real_ns();
	CHECK(before <= at && at <= after);
	OK(gn_set_stop(set, NULL));
	OK(gn_set_read_at(set, &count, NULL));
	end_set(set);
}

static void test_timers(void)
{
	const int64_t real = gn_real_ns(), virtual = gn_virtual_ns(), us = gn_real_us();
	const struct timespec nap = {0, 50000000};
	int64_t cycles = gn_real_cycles(), virtual_cycles = gn_virtual_cycles();

	CHECK(real > 0 && virtual >= 0);
	CHECK(us >= real / 1000);
	CHECK_EQ(nanosleep(&nap, NULL), 0);
	CHECK(gn_real_ns() - real >= 50000000);
	CHECK(gn_real_us() - us >= 49999);
	/* Sleeping takes none of it, however slow valgrind makes the rest. */
	CHECK(gn_virtual_ns() - virtual < gn_real_ns() - real - 40000000);
	CHECK(gn_virtual_us() <= gn_virtual_ns() / 1000 + 1000000);
	burn_ms(2);
	CHECK(gn_virtual_ns() - virtual >= 2000000);
	if (gn_cycles_hz() > 0) {
		CHECK((double)(gn_real_cycles() - cycles) > 0.04 * gn_cycles_hz());
		CHECK((double)(gn_virtual_cycles() - virtual_cycles) > 0.001 * gn_cycles_hz());
	} else {
		FAILS((int)cycles, GN_ECMP, "cycles");
		CHECK_EQ(virtual_cycles, GN_ECMP);
	}
}

int main(void)
{
	RUN(test_counts_are_linear_in_work);
	RUN(test_reads_increase_and_reset_restarts);
	RUN(test_start_zeroes);
	RUN(test_accumulate_adds_then_resets);
	RUN(test_remove_keeps_order_and_counts);
	RUN(test_values_are_typed);
	RUN(test_domains_add_up);
	RUN(test_wrong_names_resolve_to_nothing);
	RUN(test_conditions_of_sets);
	RUN(test_an_alias_is_no_second_event);
	RUN(test_errors_have_papis_names);
	RUN(test_many_sets_at_once);
	RUN(test_nothing_leaks);
	RUN(test_out_of_descriptors);
	RUN(test_pinned_and_exclusive_software_events_count);
	RUN(test_time_stamps_are_of_the_read);
	RUN(test_timers);
	return check_result;
}
