/* The aggregators over tasks: their reduction on tasks that are made up, and on bytes of any kind.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "group_stats.h"
#include "random.h"

#define TASKS 60
#define EVENTS 3
#define SECTIONS 4

static const struct ranks_plan plain = {
	.word = "statistics", .value = RANKS_MEAN, .has_deviation = 1, .has_imbalance = 1};
static const struct ranks_plan even = {.word = "average", .value = RANKS_MEAN, .is_even = 1};
static const struct ranks_plan bins = {.word = "histogram", .value = RANKS_MEAN, .has_bins = 1};

static hpm_event_info events[TASKS][SECTIONS][EVENTS];
static hpm_data_item items[TASKS][SECTIONS];

/* Tasks with values, times and labels by chance; every fourth lacks the last section. */
static void make_tasks(int n_groups)
{
	static char *names[] = {"a", "b", "c", "d", "e"};
	static char *labels[] = {"usage", "one", "two", "three"};

	for (int task = 0; task < TASKS; task++) {
		for (int s = 0; s < SECTIONS; s++) {
			hpm_data_item *item = &items[task][s];

			memset(item, 0, sizeof(*item));
			item->num_data = EVENTS;
			item->data = events[task][s];
			item->is_rusage = !s;
			item->mpi_task_id = task;
			item->instr_id = s;
			item->count = 1 + (int)random_below(5);
			item->label = labels[s];
			for (int t = 0; t < HPM_NTIM; t++)
				item->times[t] = t < 4 ? random_below(12000) / 1e3 : NAN;
			for (int e = 0; e < EVENTS; e++) {
				hpm_event_info *event = &events[task][s][e];

				memset(event, 0, sizeof(*event));
				event->name = names[s ? e + task % n_groups : e];
				event->value = random_below(1000000);
				event->running_s = event->enabled_s = 1;
				event->how = random_below(5) ? HPM_COUNTED : HPM_UNAVAILABLE;
				event->reason = "it is not here";
			}
		}
	}
}

static int sections_of(int task)
{
	return task % 4 == 3 ? SECTIONS - 1 : SECTIONS;
}

/* All rounds, merging in an order by chance; what everyone knows then. */
static hpm_blob reduce(const struct ranks_plan *plan)
{
	hpm_blob known = {NULL, 0}, part[TASKS];
	int is_done = 0;

	for (int round = 0; !is_done; round++) {
		int n = TASKS;

		CHECK(round < 20);
		for (int task = 0; task < TASKS; task++)
			CHECK_EQ(ranks_partial(plan, round, &known, task, sections_of(task),
					       items[task], &part[task]),
				 0);
		while (n > 1) {
			const int into = (int)random_below((uint32_t)n - 1);

			n--;
			CHECK_EQ(ranks_merge(round, &part[into], &part[n]), 0);
			free(part[n].data);
		}
		CHECK_EQ(ranks_next(plan, round, &part[0], &known, &is_done), 0);
		free(part[0].data);
	}
	return known;
}

/* The numbers of one event of one section over the tasks of a group, added up again. */
static void check_event(const hpm_data_item *out, int section, int e, int first, int step)
{
	const hpm_event_info *found = &out->data[e];
	double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
	int n = 0, tasks = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (int task = first; task < TASKS; task += step) {
			const hpm_event_info *event = &events[task][section][e];

			if (section >= sections_of(task))
				continue;
			tasks += pass;
			if (event->how == HPM_UNAVAILABLE)
				continue;
			if (pass) {
				squares += pow(event->value - sum / n, 2);
				continue;
			}
			n++;
			sum += event->value;
			least = fmin(least, event->value);
			most = fmax(most, event->value);
		}
	}
	CHECK_EQ(out->n_tasks, tasks);
	CHECK_EQ(found->spread->n, n);
	CHECK(n > 1);
	CHECK(fabs(found->value - sum / n) < 1e-6);
	CHECK(found->spread->minimum == least && found->spread->maximum == most);
	if (isfinite(found->spread->deviation))
		CHECK(fabs(found->spread->deviation - sqrt(squares / (n - 1))) < 1e-6);
}

static void check_group(const struct ranks_plan *plan, const hpm_blob *known, int first, int step)
{
	for (int task = first; task < TASKS; task += step) {
		hpm_event_vector out;
		int n_out, is_print_task;

		CHECK_EQ(ranks_finish(plan, known, task, sections_of(task), items[task], &n_out,
				      &out, &is_print_task),
			 0);
		CHECK_EQ(is_print_task, task == first);
		if (!is_print_task)
			continue;
		CHECK_EQ(n_out, SECTIONS);
		for (int s = 0; s < SECTIONS; s++)
			for (int e = 0; e < EVENTS; e++)
				check_event(&out[s], s, e, first, step);
		free(out);
	}
}

static void test_groups(void)
{
	for (unsigned int i = 0; i < check_work(20); i++) {
		const int n_groups = 1 + (int)random_below(3);
		hpm_blob known;

		make_tasks(n_groups);
		known = reduce(i % 2 ? &plain : &bins);
		for (int group = 0; group < n_groups; group++)
			check_group(i % 2 ? &plain : &bins, &known, group, n_groups);
		free(known.data);
	}
}

/* Whatever the times: each task is in one group or by itself. */
static void test_times(void)
{
	for (unsigned int i = 0; i < check_work(20); i++) {
		int n_tasks = 0, n_alone = 0;
		hpm_blob known;

		make_tasks(1);
		known = reduce(&even);
		for (int task = 0; task < TASKS; task++) {
			hpm_event_vector out;
			int n_out, is_print_task;

			CHECK_EQ(ranks_finish(&even, &known, task, sections_of(task), items[task],
					      &n_out, &out, &is_print_task),
				 0);
			if (!is_print_task)
				continue;
			n_tasks += out[0].n_tasks;
			n_alone += !out[0].n_tasks;
			free(out);
		}
		CHECK(n_alone <= RANKS_APART);
		CHECK(n_alone == RANKS_APART || n_tasks + n_alone == TASKS);
		free(known.data);
	}
}

/* Bytes that others sent, with some of them changed, cut off or made up. */
static void test_bytes(void)
{
	hpm_blob good[2], bad;
	int refused = 0;

	make_tasks(1);
	for (int task = 0; task < 2; task++)
		CHECK_EQ(ranks_partial(&plain, 0, &(hpm_blob){NULL, 0}, task, SECTIONS, items[task],
				       &good[task]),
			 0);
	for (unsigned int i = 0; i < check_work(3000); i++) {
		const size_t size = i % 3 ? good[1].size : random_below((uint32_t)good[1].size);
		hpm_blob into = {malloc(good[0].size), good[0].size};
		int error, is_done;

		bad = (hpm_blob){malloc(size + 1), size};
		CHECK(into.data && bad.data);
		memcpy(into.data, good[0].data, into.size);
		memcpy(bad.data, good[1].data, size);
		for (uint32_t n = random_below(6); n && size; n--)
			((unsigned char *)bad.data)[random_below((uint32_t)size)] =
				(unsigned char)random_below(256);
		error = ranks_merge(0, &into, &bad);
		refused += error != 0;
		CHECK(!error || error == EBADMSG || error == ENOMEM);
		/* At the root, and as what everyone knows. */
		error = ranks_next(&even, 0, &bad, &into, &is_done);
		CHECK(!error || error == EBADMSG || error == ENOMEM);
		if (!error) {
			hpm_event_vector out;
			int n_out, is_print_task;

			error = ranks_finish(&plain, &into, 1, SECTIONS, items[1], &n_out, &out,
					     &is_print_task);
			CHECK(!error || error == EBADMSG || error == ENOMEM);
			if (!error)
				free(out);
		}
		free(into.data);
		free(bad.data);
	}
	CHECK(refused > 0);
	for (int task = 0; task < 2; task++)
		free(good[task].data);
}

static void test_lists(void)
{
	struct ranks_arena arena = {0};
	struct ranks_tasks tasks = {0}, others = {0};

	for (int task = 20; task >= 0; task--)
		ranks_add_task(task % 5 ? &tasks : &others, task);
	CHECK(!strcmp(ranks_list(&arena, &tasks, 64), "1-4,6-9,11-14,16-19"));
	CHECK(!strcmp(ranks_list(&arena, &tasks, 2), "1-4,6-9 and 8 more"));
	CHECK_EQ(ranks_place(&tasks, 7), 5);
	CHECK_EQ(ranks_place(&tasks, 10), -1);
	ranks_add_tasks(&tasks, &others);
	CHECK(!strcmp(ranks_list(&arena, &tasks, 64), "0-20"));
	for (int task = 100; task < 400; task += 2)
		ranks_add_task(&tasks, task);
	CHECK_EQ(ranks_count(&tasks), 21 + 150);
	CHECK_EQ(tasks.n, RANKS_RANGES);
	ranks_drop(&arena);
}

int main(void)
{
	RUN(test_lists);
	RUN(test_groups);
	RUN(test_times);
	RUN(test_bytes);
	return check_result;
}
