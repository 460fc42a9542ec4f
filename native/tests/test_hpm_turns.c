/* Groups that take turns: by a limit, as software events would all fit. */
#include "hpm.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

/* In the library, for this test. */
extern int hpm_group_limit;

static void spin_ms(int64_t ms)
{
	struct timespec now;
	int64_t end;

	CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	end = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	while ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 < end) {
		touch_pages(1);
		CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	}
}

static int threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int n = 0;

	CHECK(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n - 2;
}

static void begin(const char *events, const char *slice_ms)
{
	hpm_group_limit = 1;
	setenv("HPM_EVENT_SET", "PAGEFAULTS", 1);
	setenv("GNOMON_EVENTS", events, 1);
	setenv("HPM_SLICE_DURATION", slice_ms, 1);
	enter_folder();
	hpmInit(0, "turns");
}

static void end(void)
{
	finish();
	CHECK_EQ(threads(), 1);
}

/* Every event had its turn, and its scaled value is about right. */
static void check_scaled(int id, double clock_ns)
{
	int found = 0;

	for (int i = 1; i < measured_n; i++) {
		const hpm_data_item *item = &measured[i];

		if (item->instr_id != id)
			continue;
		CHECK_EQ(item->is_mplex_cont, found > 0);
		for (int e = 0; e < item->num_data; e++) {
			const hpm_event_info *event = &item->data[e];

			CHECK_EQ(event->how, HPM_SCALED);
			CHECK(event->running_s > 0 && event->running_s < event->enabled_s);
			if (!strcmp(event->name, "task-clock"))
				CHECK(fabs(event->value - clock_ns) < 0.3 * clock_ns);
		}
		found++;
	}
	CHECK_EQ(found, 2);
}

static void test_groups_take_turns(void)
{
	begin("cpu-migrations,context-switches", "10");
	CHECK_EQ(threads(), 2);
	hpmTstart(1, "thread");
	hpmStart(2, "process");
	spin_ms(400);
	hpmStop(2);
	hpmTstop(1);
	end();
	check_scaled(1, 4e8);
	check_scaled(2, 4e8);
	clean();
}

static void test_what_had_no_turn_is_not_known(void)
{
	int unknown = 0;

	begin("context-switches", "30000");
	hpmTstart(1, "short");
	hpmTstop(1);
	end();
	for (int i = 1; i < measured_n; i++) {
		for (int e = 0; e < measured[i].num_data; e++) {
			const hpm_event_info *event = &measured[i].data[e];

			unknown += event->how == HPM_UNAVAILABLE;
			CHECK(event->how != HPM_UNAVAILABLE || strstr(event->reason, "HPM_SLICE"));
		}
	}
	CHECK(unknown > 0);
	clean();
}

static void *one_thread(void *argument)
{
	const int id = (int)(intptr_t)argument;

	for (int i = 0; i < 3; i++) {
		hpmTstart(id, "thread");
		spin_ms(20);
		hpmTstop(id);
	}
	return NULL;
}

/* Threads that come and go while groups take turns on all of them. */
static void test_turns_on_many_threads(void)
{
	const int n = 6;
	pthread_t thread[6];

	begin("context-switches", "10");
	hpmStart(100, "all");
	for (int round = 0; round < 3; round++) {
		for (int t = 0; t < n; t++)
			CHECK_EQ(pthread_create(&thread[t], NULL, one_thread,
						(void *)(intptr_t)(1 + round * n + t)),
				 0);
		for (int t = 0; t < n; t++)
			CHECK_EQ(pthread_join(thread[t], NULL), 0);
	}
	hpmStop(100);
	end();
	for (int id = 1; id <= 3 * n; id++)
		CHECK_EQ(item_of(id, 0)->count, 3);
	check_scaled(100, 3 * n * 6e7);
	clean();
}

int main(void)
{
	/* Not a test for who makes everything slower: what is tried takes its time. */
	if (getenv("GNOMON_TEST_WORK") && strcmp(getenv("GNOMON_TEST_WORK"), "100")) {
		RUN(test_what_had_no_turn_is_not_known);
		return check_result;
	}
	RUN(test_groups_take_turns);
	RUN(test_what_had_no_turn_is_not_known);
	RUN(test_turns_on_many_threads);
	return check_result;
}
