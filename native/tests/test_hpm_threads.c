/* Sections of several threads: each its own counts, parents across threads, all at once. */
#include "hpm.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define EVENT "page-faults"

static void begin(const char *exclusive)
{
	setenv("GNOMON_EVENTS", EVENT ",task-clock", 1);
	setenv("HPM_EXCLUSIVE_VALUES", exclusive, 1);
	enter_folder();
	hpmInit(0, "threads");
}

/* --- each thread counts itself, hpmStart counts them all ---------------------------------------
 */

#define THREADS 4

static pthread_barrier_t barrier;

/* What libhpm and the thread need is there before the pages are counted. */
static void *touch_in_section(void *argument)
{
	const int id = (int)(intptr_t)argument;

	hpmTstart(id, "thread");
	touch_pages(1);
	hpmTstop(id);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	hpmTstart(id, "thread");
	touch_pages(100 * (size_t)id);
	hpmTstop(id);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void test_each_counts_its_own(void)
{
	pthread_t thread[THREADS];
	double after;
	int pages = 0;

	begin("no");
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
	for (int t = 0; t < THREADS; t++) {
		CHECK_EQ(pthread_create(&thread[t], NULL, touch_in_section,
					(void *)(intptr_t)(t + 1)),
			 0);
		pages += 100 * (t + 1);
	}
	pthread_barrier_wait(&barrier);
	hpmStart(100, "all");
	hpmStart(101, "first");
	hpmStop(101);
	hpmStop(100);
	hpmStart(102, "all threads");
	hpmTstart(103, "main thread");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	hpmTstop(103);
	hpmStop(102);
	pthread_barrier_wait(&barrier);
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
	finish();
	for (int t = 1; t <= THREADS; t++) {
		after = value_of(item_of(t, 0), EVENT);
		CHECK(after >= 100 * t + 1 && after <= 100 * t + 20 + own_pages());
		CHECK(item_of(t, 0)->thread_id > 0);
	}
	after = value_of(item_of(102, 0), EVENT);
	CHECK(after >= pages && after <= pages + 40 + own_pages());
	CHECK(value_of(item_of(103, 0), EVENT) < 40 + own_pages());
	CHECK_EQ(item_of(102, 0)->thread_id, 0);
	clean();
}

/* --- a parent on another thread ----------------------------------------------------------------
 */

static sem_t go, done;

static void *child_of_main(void *unused)
{
	(void)unused;
	hpmTstartx(2, 1, "child");
	hpmTstop(2);
	sem_post(&done);
	for (int round = 0; round < 2; round++) {
		sem_wait(&go);
		hpmTstartx(2, 1, "child");
		sem_post(&done);
		sem_wait(&go);
		touch_pages(7);
		hpmTstop(2);
		sem_post(&done);
	}
	return NULL;
}

static void swap_turns(void)
{
	sem_post(&go);
	sem_wait(&done);
}

/* While the child runs, on whatever thread, its parent's counts are not exclusive. */
static void test_parents_on_another_thread(void)
{
	pthread_t thread;
	double all, exclusive;

	begin("yes");
	CHECK_EQ(sem_init(&go, 0, 0), 0);
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	hpmTstart(1, "parent");
	hpmTstop(1);
	CHECK_EQ(pthread_create(&thread, NULL, child_of_main, NULL), 0);
	/* Its first start, which makes the section, is not to cover the parent. */
	sem_wait(&done);
	touch_pages(1);
	hpmTstart(1, "parent");
	touch_pages(10);
	swap_turns();
	touch_pages(100);
	swap_turns();
	touch_pages(20);
	hpmTstop(1);
	/* Begins while it is covered, and ends so. */
	swap_turns();
	hpmTstart(1, "parent");
	touch_pages(200);
	hpmTstop(1);
	swap_turns();
	CHECK_EQ(pthread_join(thread, NULL), 0);
	finish();
	all = value_of(item_of(1, 0), EVENT);
	exclusive = value_of(item_of(1, 1), EVENT);
	CHECK(all >= 330 && all < 350 + own_pages());
	CHECK(exclusive >= 30 && exclusive < 50 + own_pages());
	CHECK_EQ(all - exclusive >= 300 && all - exclusive < 310 + own_pages(), 1);
	CHECK(value_of(item_of(2, 0), EVENT) >= 14);
	CHECK(value_of(item_of(2, 0), EVENT) < 34 + own_pages());
	CHECK_EQ(item_of(2, 0)->parent_id, 1);
	clean();
}

/* The same number of starts of the same parent by children of many threads at once. */
static void *many_children(void *argument)
{
	const int id = (int)(intptr_t)argument;

	for (unsigned int i = 0; i < check_work(3000); i++) {
		hpmTstartx(id, 1, "child");
		hpmTstop(id);
	}
	return NULL;
}

static void test_many_children_at_once(void)
{
	pthread_t thread[THREADS];
	const hpm_data_item *item, *exclusive;

	begin("yes");
	hpmTstart(1, "parent");
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_create(&thread[t], NULL, many_children, (void *)(intptr_t)(t + 2)),
			 0);
	for (unsigned int i = 0; i < check_work(3000); i++) {
		hpmTstop(1);
		hpmTstart(1, "parent");
	}
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
	hpmTstop(1);
	finish();
	item = item_of(1, 0);
	exclusive = item_of(1, 1);
	CHECK_EQ(item->count, check_work(3000) + 1);
	CHECK(exclusive->times[HPM_TIME_WALLCLOCK] <= item->times[HPM_TIME_WALLCLOCK]);
	CHECK(value_of(exclusive, EVENT) <= value_of(item, EVENT));
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(item_of(t + 2, 0)->count, check_work(3000));
	clean();
}

/* --- all at once, until the end ----------------------------------------------------------------
 */

static _Atomic int is_over;

static void *run_until_over(void *argument)
{
	const int id = (int)(intptr_t)argument;

	while (!is_over) {
		hpmTstart(id, "loop");
		hpmStart(id + 100, "loop");
		hpmStop(id + 100);
		hpmTstop(id);
	}
	return NULL;
}

/* Threads that are in sections, and in the middle of calls, when the output is written. */
static void test_the_end_while_threads_run(void)
{
	pthread_t thread[THREADS];
	const struct timespec moment = {.tv_nsec = 20000000};

	begin("yes");
	listen();
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(
			pthread_create(&thread[t], NULL, run_until_over, (void *)(intptr_t)(t + 1)),
			0);
	nanosleep(&moment, NULL);
	hpmTerminate(0);
	nanosleep(&moment, NULL);
	is_over = 1;
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
	for (int t = 0; t < THREADS; t++) {
		if (item_of(t + 1, 0))
			CHECK(item_of(t + 1, 0)->count > 0);
	}
	said();
	clean();
}

static void *leave_active(void *unused)
{
	(void)unused;
	hpmTstart(1, "never stopped");
	touch_pages(50);
	return NULL;
}

static void test_a_thread_that_ends_in_its_section(void)
{
	pthread_t thread;

	begin("no");
	CHECK_EQ(pthread_create(&thread, NULL, leave_active, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	finish();
	CHECK_EQ(item_of(1, 0)->count, 1);
	CHECK(value_of(item_of(1, 0), EVENT) >= 50);
	clean();
}

/* What it meets at its first section are cancellation points. */
static void *cancelled_section(void *unused)
{
	(void)unused;
	pthread_cancel(pthread_self());
	hpmTstart(1, "cancelled");
	hpmTstop(1);
	pthread_testcancel();
	return NULL;
}

static void test_a_thread_that_is_cancelled_in_its_first_section(void)
{
	pthread_t thread;
	void *end;

	begin("no");
	CHECK_EQ(pthread_create(&thread, NULL, cancelled_section, NULL), 0);
	CHECK_EQ(pthread_join(thread, &end), 0);
	CHECK(end == PTHREAD_CANCELED);
	hpmTstart(2, "goes on");
	hpmTstop(2);
	finish();
	CHECK_EQ(item_of(1, 0)->count, 1);
	CHECK_EQ(item_of(2, 0)->count, 1);
	clean();
}

static void *one_section(void *argument)
{
	hpmTstart((int)(intptr_t)argument, "short");
	hpmTstop((int)(intptr_t)argument);
	return NULL;
}

/* Threads that come and go take their descriptors with them. */
static void test_many_short_threads(void)
{
	const int n = (int)check_work(500);

	begin("no");
	for (int i = 1; i <= n; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, one_section, (void *)(intptr_t)i), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	finish();
	CHECK_EQ(measured_n, n + 1);
	CHECK_EQ(measured[n].data[0].how, HPM_COUNTED);
	clean();
}

/* A section of all threads may be stopped by another one than started it. */
static void *stop_seven(void *unused)
{
	(void)unused;
	hpmStop(7);
	return NULL;
}

static void test_another_thread_stops(void)
{
	pthread_t thread;

	begin("no");
	hpmStart(7, "over to you");
	touch_pages(30);
	CHECK_EQ(pthread_create(&thread, NULL, stop_seven, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	/* It is no parent any more. */
	hpmStart(8, "orphan");
	hpmStop(8);
	finish();
	CHECK(value_of(item_of(7, 0), EVENT) >= 30);
	CHECK_EQ(item_of(8, 0)->parent_id, 0);
	clean();
}

/* User and system time of a long section, and of short ones, beside the CPU time counted. */
static void burn_ms(int64_t ms)
{
	struct timespec now;
	int64_t end;

	CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	end = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	while ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 < end)
		CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
}

/* The kernel's accounting, less what the clock of its scheduler says. */
static double cpu_time_off_s(const hpm_data_item *item)
{
	return item->times[HPM_TIME_USER] + item->times[HPM_TIME_SYSTEM] -
	       value_of(item, "task-clock") / 1e9;
}

static void test_cpu_times(void)
{
	begin("yes");
	hpmStart(3, "all");
	hpmTstart(1, "long");
	burn_ms(60);
	hpmTstart(2, "inner");
	burn_ms(60);
	hpmTstop(2);
	hpmTstop(1);
	for (int i = 0; i < 300; i++) {
		hpmTstart(4, "short");
		burn_ms(2);
		hpmTstop(4);
	}
	hpmStop(3);
	finish();
	/* Its ticks are 10 ms at most; short sections are asked about that often. */
	CHECK(value_of(item_of(1, 0), "task-clock") > 1e8);
	CHECK(fabs(cpu_time_off_s(item_of(1, 0))) < 0.03);
	CHECK(fabs(cpu_time_off_s(item_of(1, 1))) < 0.03);
	CHECK(fabs(cpu_time_off_s(item_of(2, 0))) < 0.03);
	CHECK(fabs(cpu_time_off_s(item_of(4, 0))) < 0.15);
	CHECK(fabs(cpu_time_off_s(item_of(3, 0))) < 0.05);
	clean();
}

int main(void)
{
	RUN(test_each_counts_its_own);
	RUN(test_parents_on_another_thread);
	RUN(test_many_children_at_once);
	RUN(test_the_end_while_threads_run);
	RUN(test_a_thread_that_ends_in_its_section);
	RUN(test_a_thread_that_is_cancelled_in_its_first_section);
	RUN(test_many_short_threads);
	RUN(test_another_thread_stops);
	RUN(test_cpu_times);
	return check_result;
}
