/*
 * Inclusive and exclusive values against an independent computation: the test keeps a list of what
 * it did (which sections were active, who was whose child, how many pages it touched) and works out
 * from that list alone what every section must have counted, by the guide's definition (3.6.3).
 */
#include "hpm.h"

#include "random.h"

#ifndef MADV_POPULATE_READ /* as in linux/mman.h, since 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define SECTIONS 8
#define STEPS_MAX 4000
#define EVENT "page-faults"

/* What was so between one call and the next. */
struct step {
	int pages;
	int active[SECTIONS + 1];
	int parent[SECTIONS + 1]; /* of the present activation */
};

static struct step step[STEPS_MAX];
static int steps;

/* The model: starts that were not stopped, last one at the end. */
static int stack[STEPS_MAX], depth[SECTIONS + 1], parent[SECTIONS + 1], starts[SECTIONS + 1];
static int frames;

static void note(int pages)
{
	CHECK(steps < STEPS_MAX);
	step[steps].pages = pages;
	for (int s = 1; s <= SECTIONS; s++) {
		step[steps].active[s] = depth[s] > 0;
		step[steps].parent[s] = parent[s];
	}
	steps++;
}

static void model_start(int id, int par)
{
	if (!depth[id]++) {
		if (par == HPM_AUTO_PARENT || par == HPM_ONLY_EXCLUSIVE)
			parent[id] = frames ? stack[frames - 1] : 0;
		else
			parent[id] = par == HPM_NO_PARENT ? 0 : par;
	}
	stack[frames++] = id;
	starts[id]++;
}

static void model_stop(int id)
{
	int at = frames - 1;

	while (stack[at] != id)
		at--;
	for (frames--; at < frames; at++)
		stack[at] = stack[at + 1];
	depth[id]--;
}

static double expected(int id, int is_exclusive)
{
	double total = 0;

	for (int i = 0; i < steps; i++) {
		int is_covered = 0;

		for (int s = 1; s <= SECTIONS; s++)
			is_covered |= s != id && step[i].active[s] && step[i].parent[s] == id;
		if (step[i].active[id] && !(is_exclusive && is_covered))
			total += step[i].pages;
	}
	return total;
}

static void check_value(int id, int is_exclusive)
{
	const double value = value_of(item_of(id, is_exclusive), EVENT);
	const double wanted = expected(id, is_exclusive);

	if (value < wanted || value > wanted + own_pages()) {
		fprintf(stderr, "section %d: %g instead of %g\n", id, value, wanted);
		CHECK(0);
	}
}

static void check_all(int is_exclusive)
{
	for (int s = 1; s <= SECTIONS; s++) {
		if (!starts[s]) {
			CHECK_EQ(item_of(s, 0)->count, 1);
			continue;
		}
		check_value(s, 0);
		if (is_exclusive)
			check_value(s, 1);
	}
}

typedef void start_function(int id, int par, const char *label);
typedef void stop_function(int id);

/*
 * Each page that is mapped by now is there: the kernel maps those around one that is needed, unless
 * another process just has them locked, and this child's are its parent's until it writes to them.
 */
static void populate(void)
{
	FILE *maps;
	char line[4096], rights[8];
	unsigned long begin, end;

	/* Sanitizers and valgrind have mappings that no memory is large enough for. */
	if (own_pages())
		return;
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[0] != 'r')
			continue;
		/* Refused by kernels before 5.14, and where there is no page: behind a file's end.
		 */
		madvise((void *)begin, end - begin,
			rights[1] == 'w' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	}
	fclose(maps);
}

/* Every section once, so that no first call faults in what it needs while another one counts. */
static void warm(start_function *start, stop_function *stop)
{
	memset(step, 1, sizeof(step));
	memset(stack, 1, sizeof(stack));
	for (int round = 0; round < 2; round++) {
		start(101, HPM_AUTO_PARENT, "warm");
		start(102, 101, "child");
		start(102, 101, "");
		stop(101);
		start(101, HPM_ONLY_EXCLUSIVE, "");
		stop(102);
		stop(102);
		stop(101);
	}
	touch_pages(1);
	for (int s = 1; s <= SECTIONS; s++) {
		start(s, HPM_AUTO_PARENT, "section");
		stop(s);
	}
	populate();
}

static void play(int n, start_function *start, stop_function *stop)
{
	for (int i = 0; i < n; i++) {
		const int id = 1 + (int)random_below(SECTIONS);
		const int pages = (int)random_below(4);

		if (random_below(2) && frames < 40) {
			static const int kinds[] = {HPM_AUTO_PARENT, HPM_AUTO_PARENT, HPM_NO_PARENT,
						    HPM_ONLY_EXCLUSIVE, 0};
			int par = kinds[random_below(5)];

			if (!par)
				par = 1 + (int)random_below(SECTIONS);
			if (par == id)
				par = HPM_AUTO_PARENT;
			start(id, par, "again");
			model_start(id, par);
		} else if (depth[id]) {
			stop(id);
			model_stop(id);
		}
		if (pages)
			touch_pages((size_t)pages);
		note(pages);
	}
	for (int s = 1; s <= SECTIONS; s++) {
		while (depth[s]) {
			stop(s);
			model_stop(s);
		}
	}
}

static void intervals(start_function *start, stop_function *stop, uint32_t seed, int is_exclusive)
{
	random_state = seed;
	setenv("HPM_EXCLUSIVE_VALUES", is_exclusive ? "yes" : "no", 1);
	setenv("GNOMON_EVENTS", EVENT ",task-clock", 1);
	enter_folder();
	hpmInit(0, "intervals");
	warm(start, stop);
	play((int)check_work(1500), start, stop);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 0);
	for (int s = 1; s <= SECTIONS; s++)
		CHECK_EQ(item_of(s, 0)->count, starts[s] + 1);
	check_all(is_exclusive);
	clean();
}

static void test_thread_sections(void)
{
	intervals(hpmTstartx, hpmTstop, 1, 1);
}

static void test_process_sections(void)
{
	intervals(hpmStartx, hpmStop, 2, 1);
}

/* Without exclusive values starts and stops take another way, unless a section asks for its own. */
static void test_inclusive_values_alone(void)
{
	intervals(hpmTstartx, hpmTstop, 1, 0);
}

static void test_many_random_sequences(void)
{
	for (unsigned int seed = 3; seed < 3 + check_work(10); seed++) {
		const pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (!child) {
			intervals(seed % 2 ? hpmTstartx : hpmStartx, seed % 2 ? hpmTstop : hpmStop,
				  seed, seed % 4 < 2);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
}

/* Exclusive values of the section that asks, from that start on. */
static void test_only_exclusive(void)
{
	unsetenv("HPM_EXCLUSIVE_VALUES");
	setenv("GNOMON_EVENTS", EVENT, 1);
	enter_folder();
	hpmInit(0, "only");
	warm(hpmTstartx, hpmTstop);
	hpmTstart(1, "");
	touch_pages(10);
	hpmTstop(1);
	hpmTstartx(1, HPM_ONLY_EXCLUSIVE, "");
	touch_pages(20);
	hpmTstart(2, "");
	touch_pages(40);
	hpmTstop(2);
	hpmTstop(1);
	/* It has asked, and need not ask again. */
	hpmTstart(1, "");
	hpmTstartx(3, 1, "");
	touch_pages(80);
	hpmTstop(1);
	touch_pages(160);
	hpmTstop(3);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 0);
	CHECK(!item_of(2, 1));
	CHECK(!item_of(3, 1));
	CHECK_EQ(item_of(1, 0)->count, 4);
	CHECK_EQ(item_of(1, 1)->count, 2);
	CHECK(value_of(item_of(1, 0), EVENT) >= 150);
	CHECK(value_of(item_of(1, 0), EVENT) <= 150 + own_pages());
	CHECK(value_of(item_of(1, 1), EVENT) >= 20);
	CHECK(value_of(item_of(1, 1), EVENT) <= 20 + own_pages());
	CHECK(value_of(item_of(3, 0), EVENT) >= 240);
	clean();
}

/* Calls that call themselves, deeper than there is room for at first. */
static void descend(int levels)
{
	hpmTstart(1, "");
	if (levels > 1)
		descend(levels - 1);
	hpmTstop(1);
}

static void test_deep_recursion(void)
{
	setenv("GNOMON_EVENTS", EVENT, 1);
	enter_folder();
	hpmInit(0, "deep");
	descend(5000);
	hpmTstart(2, "after");
	hpmTstop(2);
	hpmTerminate(0);
	CHECK_EQ(hpm_error_count, 0);
	CHECK_EQ(item_of(1, 0)->count, 5000);
	CHECK_EQ(item_of(2, 0)->parent_id, 0);
	clean();
}

int main(void)
{
	RUN(test_only_exclusive);
	RUN(test_deep_recursion);
	RUN(test_thread_sections);
	RUN(test_process_sections);
	RUN(test_inclusive_values_alone);
	RUN(test_many_random_sequences);
	return check_result;
}
