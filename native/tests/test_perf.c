/* Groups of perf events against the kernel itself, with events of known counts. */
#include "check.h"
#include "pages.h"

#include <fcntl.h>
#include <gnomon/perf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PAGE_FAULTS PERF_COUNT_SW_PAGE_FAULTS
#define MINOR_FAULTS PERF_COUNT_SW_PAGE_FAULTS_MIN
#define TASK_CLOCK PERF_COUNT_SW_TASK_CLOCK

static struct gn_event_spec software(uint64_t config, int leader)
{
	struct gn_event_spec spec = {
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.leader = leader,
	};

	return spec;
}

static struct gn_reading *read_whole(const struct gn_group *group)
{
	static uint64_t words[3 + GN_EVENTS_MAX];
	struct gn_reading *reading = (struct gn_reading *)words;

	CHECK_EQ(gn_group_read(group, reading), 0);
	CHECK_EQ(reading->nr, group->n);
	return reading;
}

/* Sanitizers and valgrind touch pages of their own beside those of the program. */
static int64_t slack(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 400;
#else
	return getenv("GNOMON_TEST_WORK") ? 400 : 0;
#endif
}

#define CHECK_ABOUT(actual, expected)                                                              \
	CHECK(llabs((int64_t)(actual) - (int64_t)(expected)) <= slack())

static uint64_t faults_of(const struct gn_group *group, size_t pages, int event)
{
	const uint64_t before = read_whole(group)->value[event];

	touch_pages(pages);
	return read_whole(group)->value[event] - before;
}

static void test_a_group_counts_known_faults(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(MINOR_FAULTS, 0),
				       software(TASK_CLOCK, 0)};
	struct gn_group group;

	CHECK_EQ(gn_group_open(&group, spec, 3, 0, -1, 0, NULL), 0);
	CHECK(group.whole);
	CHECK_EQ(gn_group_enable(&group), 0);
	faults_of(&group, 8, 0); /* what a first call faults in beside its pages */
	for (int event = 0; event < 2; event++) {
		const uint64_t few = faults_of(&group, 100, event);

		CHECK_ABOUT(faults_of(&group, 600, event) - few, 500);
	}
	CHECK(read_whole(&group)->value[2] > 0);
	gn_group_close(&group);
}

static void test_disabled_stands_still_and_reset_goes_back(void)
{
	struct gn_event_spec spec = software(PAGE_FAULTS, 0);
	struct gn_group group;
	uint64_t count;

	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, 0, NULL), 0);
	touch_pages(100);
	CHECK_EQ(read_whole(&group)->value[0], 0);
	CHECK_EQ(read_whole(&group)->enabled, 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	touch_pages(100);
	CHECK_EQ(gn_group_disable(&group), 0);
	count = read_whole(&group)->value[0];
	CHECK(count >= 100);
	touch_pages(100);
	CHECK_EQ(read_whole(&group)->value[0], count);
	CHECK_EQ(read_whole(&group)->enabled, read_whole(&group)->running);
	CHECK_EQ(gn_group_reset(&group), 0);
	CHECK_EQ(read_whole(&group)->value[0], 0);
	gn_group_close(&group);
}

/* Where threads are told apart, what is opened beside inherited events is not inherited. */
static void test_inherited_events_have_an_anchor_where_asked_for(void)
{
	struct gn_event_spec spec = software(PAGE_FAULTS, 0);
	struct gn_event_spec bad = {.type = 0xfffff, .leader = 0};
	struct gn_group group;

	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, GN_INHERIT, NULL), 0);
	CHECK(!group.has_anchor);
	gn_group_close(&group);
	CHECK(!setenv("GNOMON_PER_THREAD", "1", 1));
	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, 0, NULL), 0);
	CHECK(!group.has_anchor);
	gn_group_close(&group);
	CHECK(gn_group_open(&group, &bad, 1, 0, -1, GN_INHERIT, NULL) < 0);
	CHECK(!group.has_anchor);
	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, GN_INHERIT, NULL), 0);
	CHECK(group.has_anchor);
	CHECK(fcntl(group.anchor, F_GETFD) & FD_CLOEXEC);
	gn_group_close(&group);
	CHECK(!group.has_anchor);
	CHECK_EQ(fcntl(group.anchor, F_GETFD), -1);
	CHECK(!unsetenv("GNOMON_PER_THREAD"));
}

static void test_inherited_events_count_children(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(MINOR_FAULTS, 1)};
	struct gn_count before[2], after[2];
	struct gn_group group;
	uint64_t with, without;
	struct gn_reading *unused = (struct gn_reading *)before;

	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, GN_INHERIT | GN_STARTED, NULL), 0);
	CHECK(!group.whole);
	CHECK_EQ(gn_group_read(&group, unused), -EINVAL);
	for (int touch = 0; touch < 2; touch++) {
		pid_t child;

		CHECK_EQ(gn_group_read_each(&group, before), 0);
		child = fork();
		if (!child) {
			touch_pages(touch ? 300 : 1);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, NULL, 0), child);
		CHECK_EQ(gn_group_read_each(&group, after), 0);
		if (touch)
			with = after[0].value - before[0].value;
		else
			without = after[0].value - before[0].value;
	}
	/* A child's own start faults differ by a page or two. */
	CHECK(llabs((int64_t)(with - without) - 299) <= 20 + slack());
	CHECK(after[1].value >= 300);
	gn_group_close(&group);
}

static void test_independent_events_of_a_thread_read_each(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(TASK_CLOCK, 1)};
	struct gn_count counts[2];
	struct gn_group group;

	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, GN_STARTED, NULL), 0);
	CHECK(!group.whole);
	touch_pages(50);
	CHECK_EQ(gn_group_read_each(&group, counts), 0);
	CHECK(counts[0].value >= 50);
	CHECK(counts[1].value > 0);
	CHECK_EQ(counts[0].enabled, counts[0].running);
	gn_group_close(&group);
}

static void test_read_each_of_a_whole_group_agrees(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(MINOR_FAULTS, 0)};
	struct gn_count counts[2];
	struct gn_group group;

	for (int n = 1; n <= 2; n++) {
		CHECK_EQ(gn_group_open(&group, spec, n, 0, -1, GN_STARTED, NULL), 0);
		touch_pages(20);
		CHECK_EQ(gn_group_disable(&group), 0);
		CHECK_EQ(gn_group_read_each(&group, counts), 0);
		for (int i = 0; i < n; i++) {
			CHECK_EQ(counts[i].value, read_whole(&group)->value[i]);
			CHECK_EQ(counts[i].enabled, read_whole(&group)->enabled);
		}
		gn_group_close(&group);
	}
}

static void test_a_group_grows_and_shrinks(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(TASK_CLOCK, 0),
				       software(MINOR_FAULTS, 0), software(9999, 0)};
	struct gn_group group;

	gn_group_begin(&group, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(gn_group_add(&group, &spec[i], 0, -1), 0);
	CHECK_EQ(gn_group_add(&group, &spec[3], 0, -1), -ENOENT);
	CHECK_EQ(group.n, 3);
	CHECK_EQ(gn_group_remove(&group, 0), -EBUSY);
	CHECK_EQ(gn_group_remove(&group, 3), -EINVAL);
	CHECK_EQ(gn_group_remove(&group, 1), 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	touch_pages(100);
	CHECK(read_whole(&group)->value[0] >= 100);
	CHECK(read_whole(&group)->value[1] >= 100);
	CHECK_EQ(gn_group_remove(&group, 1), 0);
	CHECK_EQ(gn_group_remove(&group, 0), 0);
	CHECK_EQ(group.n, 0);
	gn_group_close(&group);
}

static void test_independent_events_are_added_and_removed(void)
{
	/* Two that lead themselves, then one that the second leads. */
	struct gn_event_spec first = software(TASK_CLOCK, 0);
	struct gn_event_spec more[] = {software(PAGE_FAULTS, 1), software(MINOR_FAULTS, 1)};
	struct gn_count counts[2];
	struct gn_group group;
	int failed;

	CHECK_EQ(gn_group_open(&group, &first, 1, 0, -1, GN_INHERIT, NULL), 0);
	CHECK_EQ(gn_group_add_led(&group, more, 2, 0, -1, &failed), 0);
	CHECK_EQ(gn_group_remove(&group, 1), -EBUSY);
	CHECK_EQ(gn_group_remove(&group, 0), 0);
	CHECK_EQ(group.leader[0], 0);
	CHECK_EQ(group.leader[1], 0);
	CHECK_EQ(gn_group_enable(&group), 0);
	touch_pages(100);
	CHECK_EQ(gn_group_read_each(&group, counts), 0);
	CHECK(counts[0].value >= 100 && counts[1].value >= 100);
	more[0] = software(9999, 2);
	CHECK_EQ(gn_group_add_led(&group, more, 1, 0, -1, &failed), -ENOENT);
	CHECK_EQ(failed, 0);
	more[0].leader = 7;
	CHECK_EQ(gn_group_add_led(&group, more, 1, 0, -1, &failed), -EINVAL);
	gn_group_close(&group);
}

static void test_failures_keep_errno_and_name_the_event(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(9999, 0)};
	struct gn_group group;
	int failed = 77;

	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, 0, &failed), -ENOENT);
	CHECK_EQ(failed, 1);
	CHECK_EQ(group.n, 0);
	CHECK_EQ(gn_group_open(&group, spec, 1, 0x3fffffff, -1, 0, &failed), -ESRCH);
	CHECK_EQ(failed, 0);
	CHECK_EQ(gn_group_open(&group, spec, 0, 0, -1, 0, &failed), -EINVAL);
	CHECK_EQ(failed, -1);
	CHECK_EQ(gn_group_open(&group, spec, GN_EVENTS_MAX + 1, 0, -1, 0, &failed), -EINVAL);
	spec[1] = software(MINOR_FAULTS, 2);
	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, 0, &failed), -EINVAL);
	spec[1].leader = -1;
	CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, 0, &failed), -EINVAL);
}

static void test_nothing_stays_open_after_a_failure(void)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(9999, 0)};
	struct gn_group group;
	int lowest = dup(0), again;

	close(lowest);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(gn_group_open(&group, spec, 2, 0, -1, 0, NULL), -ENOENT);
	again = dup(0);
	CHECK_EQ(again, lowest);
	close(again);
}

static void test_out_of_descriptors_is_emfile(void)
{
	struct rlimit few;
	struct gn_event_spec spec[32];
	struct gn_group group;
	int failed;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
	few.rlim_cur = 16;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < 32; i++)
		spec[i] = software(PAGE_FAULTS, 0);
	CHECK_EQ(gn_group_open(&group, spec, 32, 0, -1, 0, &failed), -EMFILE);
	CHECK(failed > 0 && failed < 16);
}

static void test_software_events_have_no_user_reads(void)
{
	struct gn_event_spec spec = software(TASK_CLOCK, 0);
	struct gn_group group;

	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, GN_USER_READ | GN_STARTED, NULL), 0);
	CHECK(!group.mapped && !group.page[0]);
	/* The caller notices nothing: the read takes a system call instead. */
	CHECK(read_whole(&group)->value[0] > 0);
	gn_group_close(&group);
}

static void test_attr_sizes_are_the_smallest_that_do(void)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER0);
	attr.config = 1;
	attr.inherit = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER0);
	attr.config1 = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER0);
	attr.config2 = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER1);
	attr.branch_sample_type = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER2);
	attr.sample_stack_user = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER3);
	attr.sample_regs_intr = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER4);
	attr.sample_max_stack = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER5);
	attr.aux_sample_size = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER6);
	attr.sig_data = 1;
	CHECK_EQ(gn_attr_size(&attr), PERF_ATTR_SIZE_VER7);
}

static void test_every_attr_size_opens_here(void)
{
	static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128};
	struct gn_event_spec spec = software(PAGE_FAULTS, 0);
	struct perf_event_attr attr;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd;

		gn_attr_init(&attr, &spec, 0);
		attr.size = sizes[i];
		fd = gn_perf_open(&attr, 0, -1, -1);
		CHECK(fd >= 0);
		close(fd);
	}
}

static void test_an_attr_that_the_kernel_does_not_know_is_e2big(void)
{
	/* As a future attr would look to this kernel, and ours to one that is older. */
	union {
		struct perf_event_attr attr;
		unsigned char byte[512];
	} future;
	struct gn_event_spec spec = software(PAGE_FAULTS, 0);

	memset(&future, 0, sizeof(future));
	gn_attr_init(&future.attr, &spec, 0);
	future.attr.size = sizeof(future);
	future.byte[sizeof(future) - 1] = 1;
	CHECK_EQ(gn_perf_open(&future.attr, 0, -1, -1), -E2BIG);
	CHECK(future.attr.size < sizeof(future) && future.attr.size >= PERF_ATTR_SIZE_VER0);
}

static void test_exclude_bits_reach_the_kernel(void)
{
	struct gn_event_spec spec = software(PAGE_FAULTS, 0);
	struct gn_group group;

	spec.exclude = GN_EXCLUDE_USER;
	CHECK_EQ(gn_group_open(&group, &spec, 1, 0, -1, GN_STARTED, NULL), 0);
	touch_pages(200);
	/* The faults of user mode are what was left out. */
	CHECK(read_whole(&group)->value[0] < 100);
	gn_group_close(&group);
}

int main(void)
{
	RUN(test_a_group_counts_known_faults);
	RUN(test_disabled_stands_still_and_reset_goes_back);
	RUN(test_inherited_events_have_an_anchor_where_asked_for);
	RUN(test_inherited_events_count_children);
	RUN(test_independent_events_of_a_thread_read_each);
	RUN(test_read_each_of_a_whole_group_agrees);
	RUN(test_a_group_grows_and_shrinks);
	RUN(test_independent_events_are_added_and_removed);
	RUN(test_failures_keep_errno_and_name_the_event);
	RUN(test_nothing_stays_open_after_a_failure);
	RUN(test_out_of_descriptors_is_emfile);
	RUN(test_software_events_have_no_user_reads);
	RUN(test_attr_sizes_are_the_smallest_that_do);
	RUN(test_every_attr_size_opens_here);
	RUN(test_an_attr_that_the_kernel_does_not_know_is_e2big);
	RUN(test_exclude_bits_reach_the_kernel);
	return check_result;
}
