/* What `gnomon run` gets beside the program's own output, which does not change. */
#include "hpm.h"

#include <pthread.h>
#include <sys/stat.h>

#include "item_codec.h"

#define EVENT "page-faults"

static char folder[4096];

static void begin(const char *exclusive)
{
	char made[] = "/tmp/test_hpm_run_XXXXXX";

	CHECK(mkdtemp(made));
	snprintf(folder, sizeof(folder), "%s", made);
	setenv("GNOMON_RUN_DIR", folder, 1);
	setenv("GNOMON_EVENTS", EVENT, 1);
	if (exclusive)
		setenv("HPM_EXCLUSIVE_VALUES", exclusive, 1);
	else
		unsetenv("HPM_EXCLUSIVE_VALUES");
	enter_folder();
	hpmInit(0, "run");
}

/* The one file there with this ending; NULL if there is none. */
static const char *left(const char *ending)
{
	static char path[4096];
	char command[8192];
	FILE *found;
	size_t length;

	snprintf(command, sizeof(command), "ls %s/*.%s 2>/dev/null", folder, ending);
	found = popen(command, "r");
	CHECK(found);
	length = fread(path, 1, sizeof(path) - 1, found);
	pclose(found);
	path[length] = '\0';
	if (!length)
		return NULL;
	CHECK_EQ(path[length - 1], '\n');
	path[length - 1] = '\0';
	return path;
}

static void end(void)
{
	char command[8192];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	clean();
}

/* Of what the run got; NAN if there is no such item. */
static double of_run(int id, int is_exclusive, int *count)
{
	struct hpm_items items;
	char why[256] = "";
	double value = NAN;

	CHECK(left("hpmitems"));
	CHECK_EQ(hpm_items_load(left("hpmitems"), &items, why), 0);
	for (int i = 0; i < items.n; i++) {
		const hpm_data_item *item = &items.item[i];

		if (item->is_rusage || item->instr_id != id || item->is_exclusive != is_exclusive)
			continue;
		CHECK_EQ(isnan(value), 1);
		value = value_of(item, EVENT);
		*count = item->count;
	}
	hpm_items_release(&items);
	return value;
}

/* Inclusive and exclusive pages of sections 1, 2 in it, and 3 in 2 and in 1. */
static void nest(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		hpmTstart(1, "one");
		touch_pages(100);
		hpmTstart(2, "two");
		touch_pages(10);
		hpmTstart(3, "three");
		touch_pages(1000);
		hpmTstop(3);
		hpmTstart(2, "two");
		touch_pages(10);
		hpmTstop(2);
		hpmTstop(2);
		hpmTstop(1);
	}
}

/* A section's first start within another one touches a few pages. */
static void check_near(double value, double wanted)
{
	const double most = wanted + own_pages() + 8;

	if (!(value >= wanted && value <= most))
		fprintf(stderr, "%g instead of %g\n", value, wanted);
	CHECK(value >= wanted && value <= most);
}

static void test_exclusive_values_are_kept(void)
{
	int count = 0;

	begin(NULL);
	nest(2);
	finish();
	check_near(of_run(1, 1, &count), 200);
	CHECK_EQ(count, 2);
	check_near(of_run(2, 1, &count), 40);
	CHECK_EQ(count, 4);
	check_near(of_run(3, 1, &count), 2000);
	CHECK(of_run(1, 0, &count) == of_run(1, 1, &count) + of_run(2, 0, &count));
	CHECK(of_run(2, 0, &count) == of_run(2, 1, &count) + of_run(3, 0, &count));
	CHECK(of_run(3, 0, &count) == of_run(3, 1, &count));
	/* The program's own output has none. */
	for (int id = 1; id <= 3; id++) {
		CHECK(item_of(id, 0));
		CHECK(!item_of(id, 1));
	}
	end();
}

static void test_who_says_no_gets_none(void)
{
	int count = 0;

	begin("no");
	nest(1);
	finish();
	CHECK(!isnan(of_run(1, 0, &count)));
	CHECK(isnan(of_run(1, 1, &count)));
	CHECK(!item_of(1, 1));
	end();
}

/* From the second start on: what is written is what is written without a run. */
static void test_asked_for_later(void)
{
	int count = 0;

	begin(NULL);
	for (int i = 0; i < 3; i++) {
		hpmTstartx(1, i ? HPM_ONLY_EXCLUSIVE : HPM_AUTO_PARENT, "one");
		touch_pages(100);
		hpmTstop(1);
	}
	finish();
	CHECK_EQ(item_of(1, 0)->count, 3);
	CHECK_EQ(item_of(1, 1)->count, 2);
	check_near(value_of(item_of(1, 1), EVENT), 200);
	check_near(of_run(1, 1, &count), 200);
	CHECK_EQ(count, 2);
	end();
}

/* The number, address and module of each section that has told no place. */
static void test_places(void)
{
	char text[8192], module[4096], own[4096];
	unsigned long long address;
	int id, used = 0;
	FILE *file;

	begin(NULL);
	CHECK_EQ(hpmPlace(4, "told.c", 7), 1);
	CHECK_EQ(hpmPlace(4, "later.c", 8), 1);
	CHECK_EQ(hpmPlace(0, "none.c", 1), 0);
	CHECK_EQ(hpmPlace(1001, "none.c", 1), 0);
	nest(2);
	hpmStart(4, "four");
	hpmStop(4);
	finish();
	CHECK(!strcmp(item_of(4, 0)->file, "told.c"));
	CHECK_EQ(item_of(4, 0)->line, 7);
	CHECK_EQ(strlen(item_of(1, 0)->file), 0);
	CHECK(left("hpmplaces"));
	file = fopen(left("hpmplaces"), "r");
	CHECK(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	CHECK(!strncmp(text, "gnomon places 1\n", 16));
	CHECK(realpath("/proc/self/exe", own));
	used = 16;
	for (int wanted = 1; wanted <= 3; wanted++) {
		int length = 0;

		CHECK_EQ(sscanf(text + used, "%d %llx %4095s\n%n", &id, &address, module, &length),
			 3);
		CHECK_EQ(id, wanted);
		/* Under valgrind the program's path is valgrind's. */
		if (!getenv("VALGRIND_LAUNCHER"))
			CHECK(!strcmp(module, own));
		CHECK(address > 0);
		used += length;
	}
	CHECK_EQ(strlen(text + used), 0);
	end();
}

static void *nest_on_another(void *argument)
{
	(void)argument;
	hpmTstart(11, "outer there");
	touch_pages(50);
	hpmTstart(12, "inner there");
	touch_pages(500);
	hpmTstop(12);
	hpmTstop(11);
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread;
	int count = 0;

	begin(NULL);
	hpmTstart(1, "here");
	CHECK_EQ(pthread_create(&thread, NULL, nest_on_another, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	hpmTstop(1);
	finish();
	CHECK(of_run(11, 0, &count) == of_run(11, 1, &count) + of_run(12, 0, &count));
	CHECK(of_run(1, 0, &count) == of_run(1, 1, &count));
	check_near(of_run(12, 1, &count), 500);
	end();
}

static void test_a_folder_that_is_not_there(void)
{
	char command[8192];

	begin(NULL);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	nest(1);
	finish();
	CHECK(item_of(3, 0));
	clean();
}

/* The program's own output is as ever. */
static void test_switched_off(void)
{
	setenv("GNOMON_WITHOUT", "counters,sections", 1);
	begin(NULL);
	nest(1);
	finish();
	CHECK(item_of(3, 0));
	CHECK(!left("hpmitems"));
	CHECK(!left("hpmraw"));
	CHECK(!left("hpmplaces"));
	end();
	unsetenv("GNOMON_WITHOUT");
}

int main(void)
{
	RUN(test_exclusive_values_are_kept);
	RUN(test_who_says_no_gets_none);
	RUN(test_asked_for_later);
	RUN(test_places);
	RUN(test_threads);
	RUN(test_a_folder_that_is_not_there);
	RUN(test_switched_off);
	return check_result;
}
