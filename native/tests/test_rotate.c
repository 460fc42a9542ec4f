/* Rotation of groups by our own thread, with software events whose work is known. */
#include "check.h"
#include "pages.h"

#include <dirent.h>
#include <gnomon/perf.h>
#include <gnomon/rotate.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define PAGE_FAULTS PERF_COUNT_SW_PAGE_FAULTS
#define TASK_CLOCK PERF_COUNT_SW_TASK_CLOCK
#define DUMMY PERF_COUNT_SW_DUMMY
#define SLICE_NS 1000000ull
#define GROUPS 3

struct rotated {
	struct gn_group group[GROUPS];
	struct gn_group *each[GROUPS];
	struct gn_group dummy;
	struct gn_rotation *rotation;
};

static struct gn_event_spec software(uint64_t config, int leader)
{
	struct gn_event_spec spec = {
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.leader = leader,
	};

	return spec;
}

static void open_all(struct rotated *all, pid_t pid, uint32_t flags)
{
	struct gn_event_spec spec[] = {software(PAGE_FAULTS, 0), software(TASK_CLOCK, 0)};
	struct gn_event_spec dummy = software(DUMMY, 0);

	memset(all, 0, sizeof(*all));
	CHECK_EQ(gn_group_open(&all->dummy, &dummy, 1, pid, -1, flags | GN_STARTED, NULL), 0);
	for (int i = 0; i < GROUPS; i++) {
		CHECK_EQ(gn_group_open(&all->group[i], spec, 2, pid, -1, flags, NULL), 0);
		all->each[i] = &all->group[i];
	}
}

static void close_all(struct rotated *all)
{
	for (int i = 0; i < GROUPS; i++)
		gn_group_close(&all->group[i]);
	gn_group_close(&all->dummy);
}

static struct gn_count first_of(const struct gn_group *group)
{
	struct gn_count count[2];

	CHECK_EQ(gn_group_read_each(group, count), 0);
	return count[0];
}

static uint64_t touched;

static void touch(size_t n)
{
	touch_pages(n);
	touched += n;
}

static void work_until_turn(const struct rotated *all, uint64_t turns)
{
	while (gn_rotation_turns(all->rotation) < turns)
		touch(16);
}

/* A turn may pass while something else has the CPU: go on until every group has seen some work. */
static void work_until_all_count(const struct rotated *all)
{
	for (int i = 0; i < GROUPS; i++) {
		while (!first_of(&all->group[i]).value)
			touch(16);
	}
}

static int threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;

	CHECK(tasks);
	for (struct dirent *one = readdir(tasks); one; one = readdir(tasks))
		n += one->d_name[0] != '.';
	closedir(tasks);
	return n;
}

/* A thread that was joined may be seen for a moment more. */
static int threads(int expected)
{
	for (int i = 0; i < 1000 && threads_now() != expected; i++)
		usleep(1000);
	return threads_now();
}

static void test_every_group_has_its_turns(void)
{
	struct rotated all;
	uint64_t running = 0, faults = 0;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	CHECK(gn_rotation_turns(all.rotation) >= 1);
	touched = 0;
	work_until_turn(&all, 4 * GROUPS);
	work_until_all_count(&all);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	for (int i = 0; i < GROUPS; i++) {
		const struct gn_count count = first_of(&all.group[i]);

		CHECK(count.value > 0);
		CHECK(count.running > 0);
		CHECK_EQ(count.running, count.enabled);
		running += count.running;
		faults += count.value;
	}
	/* One at a time: together they had no more than there was. */
	CHECK(running <= first_of(&all.dummy).enabled);
	CHECK(faults <= touched + touched / 2 + 100);
	close_all(&all);
}

static void test_nothing_counts_after_the_stop(void)
{
	struct gn_count before[GROUPS];
	struct rotated all;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	work_until_turn(&all, 2);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	for (int i = 0; i < GROUPS; i++)
		before[i] = first_of(&all.group[i]);
	touch(1000);
	for (int i = 0; i < GROUPS; i++) {
		const struct gn_count after = first_of(&all.group[i]);

		CHECK_EQ(after.value, before[i].value);
		CHECK_EQ(after.enabled, before[i].enabled);
	}
	close_all(&all);
}

static void test_later_groups_of_a_short_run_have_nothing(void)
{
	struct rotated all;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, 3600 * 1000000000ull), 0);
	touch(10);
	CHECK_EQ(gn_rotation_turns(all.rotation), 1);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	CHECK(first_of(&all.group[0]).value >= 10);
	for (int i = 1; i < GROUPS; i++) {
		CHECK_EQ(first_of(&all.group[i]).value, 0);
		CHECK_EQ(first_of(&all.group[i]).running, 0);
	}
	close_all(&all);
}

static void test_paused_it_goes_on_with_the_first(void)
{
	struct rotated all;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_prepare(&all.rotation), 0);
	CHECK_EQ(threads(2), 2);
	for (int again = 0; again < 100; again++) {
		/* Slices that end about when it is paused, and ones that do not end. */
		const uint64_t slice_ns = again % 2 ? SLICE_NS / 20 : 3600 * 1000000000ull;
		const uint64_t before = first_of(&all.group[0]).value;

		CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, slice_ns), 0);
		CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, slice_ns), -EALREADY);
		touch(20);
		CHECK_EQ(gn_rotation_pause(all.rotation), 0);
		CHECK_EQ(gn_rotation_pause(all.rotation), 0);
		CHECK(again % 2 || first_of(&all.group[0]).value >= before + 20);
		touch(1);
	}
	CHECK_EQ(threads(2), 2);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	CHECK_EQ(threads(1), 1);
	close_all(&all);
}

/* Returns the time of all that inherits, less that of the calling thread, which is no shorter. */
static int64_t time_of_others(int prepared)
{
	struct gn_event_spec dummy = software(DUMMY, 0);
	struct gn_rotation *rotation = NULL;
	struct gn_group alone;
	struct rotated all;
	uint64_t together;

	if (prepared)
		CHECK_EQ(gn_rotation_prepare(&rotation), 0);
	CHECK_EQ(gn_group_open(&alone, &dummy, 1, 0, -1, GN_STARTED, NULL), 0);
	open_all(&all, 0, GN_INHERIT);
	all.rotation = rotation;
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS / 10), 0);
	CHECK(!prepared || all.rotation == rotation);
	work_until_turn(&all, 300);
	together = first_of(&all.dummy).enabled;
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	close_all(&all);
	return (int64_t)together - (int64_t)first_of(&alone).enabled;
}

static void test_thread_that_was_prepared_is_not_counted(void)
{
	CHECK(time_of_others(1) <= 0);
	CHECK(time_of_others(0) > 0);
}

static void test_wide_turns_enable_side_by_side(void)
{
	struct rotated all;
	struct gn_group *pairs[4];
	struct gn_event_spec spec = software(TASK_CLOCK, 0);
	struct gn_group fourth;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_group_open(&fourth, &spec, 1, 0, -1, 0, NULL), 0);
	memcpy(pairs, all.each, sizeof(all.each));
	pairs[3] = &fourth;
	CHECK_EQ(gn_rotation_start_wide(&all.rotation, pairs, 2, 2, 3600 * 1000000000ull), 0);
	touch(10);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	CHECK(first_of(pairs[0]).value >= 10);
	CHECK(first_of(pairs[1]).value >= 10);
	CHECK_EQ(first_of(pairs[2]).enabled, 0);
	CHECK_EQ(first_of(pairs[3]).enabled, 0);
	gn_group_close(&fourth);
	close_all(&all);
}

static void test_one_group_needs_no_thread(void)
{
	struct rotated all;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, 1, SLICE_NS), 0);
	CHECK_EQ(threads(1), 1);
	touch(100);
	CHECK_EQ(gn_rotation_turns(all.rotation), 1);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	CHECK(first_of(&all.group[0]).value >= 100);
	close_all(&all);
}

static void test_thousand_rotations_leave_no_thread(void)
{
	struct rotated all;

	open_all(&all, 0, 0);
	for (unsigned int i = 0; i < check_work(1000); i++) {
		all.rotation = NULL;
		CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
		CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	}
	CHECK_EQ(threads(1), 1);
	close_all(&all);
}

static void test_wrong_arguments(void)
{
	struct rotated all;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, 0, SLICE_NS), -EINVAL);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GN_ROTATION_GROUPS_MAX + 1, SLICE_NS),
		 -EINVAL);
	CHECK_EQ(gn_rotation_start_wide(&all.rotation, all.each, 2, GN_ROTATION_GROUPS_MAX,
					SLICE_NS),
		 -EINVAL);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, 0), -EINVAL);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, UINT64_MAX), -EINVAL);
	CHECK(!all.rotation);
	CHECK_EQ(gn_rotation_turns(NULL), 0);
	CHECK_EQ(gn_rotation_pause(NULL), 0);
	CHECK_EQ(gn_rotation_stop(NULL), 0);
	close_all(&all);
}

static void test_kernels_error_is_kept(void)
{
	struct rotated all;
	int fd;

	open_all(&all, 0, 0);
	fd = all.group[1].fd[0];
	all.group[1].fd[0] = -1;
	CHECK_EQ(gn_rotation_start(&all.rotation, &all.each[1], 1, SLICE_NS), -EBADF);
	CHECK(!all.rotation);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	work_until_turn(&all, 3);
	CHECK_EQ(gn_rotation_stop(all.rotation), -EBADF);
	all.group[1].fd[0] = fd;
	close_all(&all);
}

static void test_child_leaves_the_parents_rotation_alone(void)
{
	struct rotated all;
	uint64_t turns;
	int status;
	pid_t child;

	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	child = fork();
	if (!child) {
		CHECK_EQ(threads(1), 1);
		CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), -ECHILD);
		CHECK_EQ(gn_rotation_pause(all.rotation), 0);
		CHECK_EQ(gn_rotation_stop(all.rotation), 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	turns = gn_rotation_turns(all.rotation);
	CHECK(turns >= 1);
	work_until_turn(&all, turns + GROUPS);
	/* The turns of the parent have gone on if all groups see what is done from now on. */
	for (int i = 0; i < GROUPS; i++) {
		const uint64_t before = first_of(&all.group[i]).value;

		while (first_of(&all.group[i]).value == before)
			touch(16);
	}
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	close_all(&all);
}

static void test_another_process_is_rotated(void)
{
	struct rotated all;
	pid_t child = fork();

	if (!child) {
		for (;;)
			touch(16);
	}
	open_all(&all, child, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	for (int i = 0; i < GROUPS; i++) {
		while (!first_of(&all.group[i]).value)
			usleep(1000);
	}
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	/* Its end is nobody's error. */
	work_until_turn(&all, gn_rotation_turns(all.rotation) + GROUPS);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	close_all(&all);
}

static volatile sig_atomic_t alarms;
static pthread_t main_thread;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	alarms += pthread_equal(pthread_self(), main_thread) ? 1 : 1000000;
}

static void test_signals_go_to_the_others(void)
{
	const struct itimerval often = {{0, 500}, {0, 500}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct rotated all;

	main_thread = pthread_self();
	signal(SIGALRM, on_alarm);
	open_all(&all, 0, 0);
	CHECK_EQ(gn_rotation_start(&all.rotation, all.each, GROUPS, SLICE_NS), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (alarms < 20)
		touch(16);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	CHECK(alarms < 1000000);
	CHECK_EQ(gn_rotation_stop(all.rotation), 0);
	close_all(&all);
}

int main(void)
{
	RUN(test_every_group_has_its_turns);
	RUN(test_nothing_counts_after_the_stop);
	RUN(test_later_groups_of_a_short_run_have_nothing);
	RUN(test_paused_it_goes_on_with_the_first);
	RUN(test_thread_that_was_prepared_is_not_counted);
	RUN(test_wide_turns_enable_side_by_side);
	RUN(test_one_group_needs_no_thread);
	RUN(test_thousand_rotations_leave_no_thread);
	RUN(test_wrong_arguments);
	RUN(test_kernels_error_is_kept);
	RUN(test_child_leaves_the_parents_rotation_alone);
	RUN(test_another_process_is_rotated);
	RUN(test_signals_go_to_the_others);
	return check_result;
}
