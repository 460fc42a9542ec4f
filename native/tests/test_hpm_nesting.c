/*
 * Sections of threads in sections of all threads: whose child each is, and what is left of a parent
 * without it.
 */
#include "hpm.h"

#include <pthread.h>

#define EVENT "page-faults"
#define THREADS 4

static pthread_barrier_t barrier;

static void wait_for_all(void)
{
	const int waited = pthread_barrier_wait(&barrier);

	CHECK(!waited || waited == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void begin(void)
{
	setenv("GNOMON_EVENTS", EVENT, 1);
	setenv("HPM_EXCLUSIVE_VALUES", "yes", 1);
	enter_folder();
	hpmInit(0, "nesting");
	/* What first calls fault in is not counted later. */
	hpmStart(101, "warm");
	hpmTstart(102, "warm");
	hpmTstop(102);
	hpmStop(101);
	touch_pages(1);
}

static void check_pages(int id, int is_exclusive, double wanted)
{
	const double value = value_of(item_of(id, is_exclusive), EVENT);

	if (!(value >= wanted && value <= wanted + 20 + own_pages())) {
		fprintf(stderr, "section %d: %g instead of %g\n", id, value, wanted);
		CHECK(0);
	}
}

static double wall(int id, int is_exclusive)
{
	CHECK(item_of(id, is_exclusive));
	return item_of(id, is_exclusive)->times[HPM_TIME_WALLCLOCK];
}

/* The first example of the documentation. */
static void test_one_thread(void)
{
	begin();
	hpmStart(1, "time steps");
	for (int step = 0; step < 3; step++) {
		touch_pages(10);
		hpmTstart(2, "one step");
		touch_pages(100);
		hpmTstart(3, "in a step");
		touch_pages(1000);
		hpmTstop(3);
		hpmTstop(2);
	}
	hpmStop(1);
	finish();
	CHECK_EQ(item_of(2, 0)->parent_id, 1);
	CHECK_EQ(item_of(3, 0)->parent_id, 2);
	CHECK(item_of(2, 0)->thread_id > 0);
	CHECK_EQ(item_of(1, 0)->thread_id, 0);
	check_pages(1, 0, 3330);
	check_pages(1, 1, 30);
	check_pages(2, 1, 300);
	CHECK(wall(1, 1) + wall(2, 0) <= wall(1, 0) + 1e-9);
	CHECK_EQ(value_of(item_of(1, 1), EVENT) + value_of(item_of(2, 0), EVENT),
		 value_of(item_of(1, 0), EVENT));
	clean();
}

static void *step_of_thread(void *argument)
{
	const int id = (int)(intptr_t)argument;

	/* The first one of a thread opens its counters. */
	hpmTstartx(id, HPM_NO_PARENT, "step");
	hpmTstop(id);
	touch_pages(1);
	wait_for_all();
	wait_for_all();
	if (id % 2)
		touch_pages(50);
	hpmTstart(id, "step");
	touch_pages(100 * (size_t)(id - 1));
	wait_for_all();
	hpmTstop(id);
	wait_for_all();
	return NULL;
}

/* All at once: of its counts the parent loses the sum, of its time what at least one had. */
static void test_several_threads(void)
{
	pthread_t thread[THREADS];
	double sum = 0, longest = 0;

	begin();
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(
			pthread_create(&thread[t], NULL, step_of_thread, (void *)(intptr_t)(t + 2)),
			0);
	wait_for_all();
	hpmStart(1, "time steps");
	wait_for_all();
	touch_pages(30);
	wait_for_all();
	wait_for_all();
	hpmStop(1);
	for (int t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_join(thread[t], NULL), 0);
	finish();
	for (int id = 2; id < THREADS + 2; id++) {
		CHECK_EQ(item_of(id, 0)->parent_id, 1);
		check_pages(id, 0, 100 * (id - 1));
		sum += value_of(item_of(id, 0), EVENT);
		longest = fmax(longest, wall(id, 0));
	}
	check_pages(1, 0, 1130);
	/* Main's pages are its own, whoever was in a step then, and those before the steps. */
	check_pages(1, 1, 130);
	CHECK(wall(1, 1) + longest <= wall(1, 0) + 1e-4);
	CHECK(value_of(item_of(1, 1), EVENT) + sum <= value_of(item_of(1, 0), EVENT) + THREADS);
	clean();
}

static void test_explicit_parents(void)
{
	begin();
	hpmStart(1, "outer");
	hpmStart(2, "inner");
	hpmTstartx(3, 1, "of the outer one");
	touch_pages(100);
	hpmTstop(3);
	hpmTstartx(4, HPM_NO_PARENT, "of none");
	touch_pages(10);
	hpmTstop(4);
	hpmTstart(5, "of the inner one");
	touch_pages(1000);
	hpmTstop(5);
	hpmStop(2);
	hpmTstart(6, "of the outer one again");
	touch_pages(100);
	hpmTstop(6);
	hpmStop(1);
	hpmTstart(7, "of none any more");
	hpmTstop(7);
	finish();
	CHECK_EQ(item_of(3, 0)->parent_id, 1);
	CHECK_EQ(item_of(4, 0)->parent_id, 0);
	CHECK_EQ(item_of(5, 0)->parent_id, 2);
	CHECK_EQ(item_of(6, 0)->parent_id, 1);
	CHECK_EQ(item_of(7, 0)->parent_id, 0);
	check_pages(2, 0, 1110);
	check_pages(2, 1, 110);
	clean();
}

/* A thread that is in a section of its own starts one of all threads, and in that one of its own.
 */
static void test_all_threads_within_a_thread(void)
{
	begin();
	hpmTstart(1, "main");
	touch_pages(10);
	hpmStart(2, "all threads");
	touch_pages(100);
	hpmTstart(3, "step");
	touch_pages(1000);
	hpmTstop(3);
	hpmStop(2);
	hpmTstart(4, "after");
	touch_pages(20);
	hpmTstop(4);
	hpmTstop(1);
	finish();
	CHECK_EQ(item_of(2, 0)->parent_id, 0);
	CHECK_EQ(item_of(3, 0)->parent_id, 2);
	CHECK_EQ(item_of(4, 0)->parent_id, 1);
	check_pages(1, 0, 1130);
	check_pages(1, 1, 10);
	check_pages(2, 1, 100);
	CHECK(wall(1, 1) + wall(2, 0) + wall(4, 0) <= wall(1, 0) + 1e-9);
	clean();
}

/* What a thread counted before the end of its parent is not known: no value is made up. */
static void test_a_child_that_outlasts_its_parent(void)
{
	begin();
	for (int i = 0; i < 3; i++) {
		hpmStart(1, "parent");
		hpmTstart(2, "child");
		touch_pages(100);
		if (i != 1)
			hpmTstop(2);
		hpmStop(1);
		if (i == 1)
			hpmTstop(2);
	}
	finish();
	CHECK_EQ(item_of(1, 0)->count, 3);
	CHECK_EQ(item_of(1, 1)->count, 2);
	check_pages(1, 1, 0);
	clean();
}

/* The end stops what is active, and the children first. */
static void test_the_end(void)
{
	begin();
	hpmStart(1, "parent");
	touch_pages(10);
	hpmTstart(2, "child");
	touch_pages(100);
	finish();
	CHECK_EQ(item_of(1, 1)->count, 1);
	check_pages(1, 0, 110);
	check_pages(1, 1, 10);
	clean();
}

/* Without exclusive values only the parent is kept. */
static void test_inclusive_values_alone(void)
{
	setenv("GNOMON_EVENTS", EVENT, 1);
	setenv("HPM_EXCLUSIVE_VALUES", "no", 1);
	enter_folder();
	hpmInit(0, "nesting");
	for (int i = 0; i < 2; i++) {
		hpmStart(1, "parent");
		hpmTstart(2, "child");
		hpmTstart(3, "grandchild");
		hpmTstop(3);
		hpmTstop(2);
		hpmStop(1);
	}
	hpmTstart(3, "grandchild");
	hpmTstop(3);
	finish();
	CHECK_EQ(item_of(2, 0)->parent_id, 1);
	CHECK_EQ(item_of(3, 0)->parent_id, 0);
	CHECK(!item_of(1, 1));
	clean();
}

int main(void)
{
	RUN(test_one_thread);
	RUN(test_several_threads);
	RUN(test_explicit_parents);
	RUN(test_all_threads_within_a_thread);
	RUN(test_a_child_that_outlasts_its_parent);
	RUN(test_the_end);
	RUN(test_inclusive_values_alone);
	return check_result;
}
