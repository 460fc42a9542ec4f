/* A job made by forking: tasks with the variables that a launcher would give them. */
#ifndef GNOMON_TESTS_JOB_H
#define GNOMON_TESTS_JOB_H

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"

#include <gnomon/hpm_tree.h>

#define JOB_MAX 64

/* What a task found, in memory that all share. */
struct found {
	int opened;  /* what hpm_tree_open() returned */
	int reduced; /* the first of reduce and share that failed, or 0 */
	int was_root;
	long long n, sum, order; /* of the total, as shared */
	int n_gaps;
	char gaps[4096];
	char error[1024];
	double seconds; /* from the beginning of the reduction to the end of the share */
};

static struct found *found;
static char job_folder[PATH_MAX];

/* How many tasks have come to a place, in memory that all share. */
static _Atomic int *here_now;

static inline void make_job(int local_tasks, int tasks)
{
	char number[16];
	const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";

	snprintf(job_folder, sizeof(job_folder), "%s/test_tree.XXXXXX", base);
	CHECK(mkdtemp(job_folder));
	setenv("TMPDIR", job_folder, 1);
	snprintf(number, sizeof(number), "%d", tasks);
	setenv("PMI_SIZE", number, 1);
	snprintf(number, sizeof(number), "%d", local_tasks);
	setenv("MPI_LOCALNRANKS", number, 1);
	unsetenv("HPM_AGGREGATE_DIR");
	unsetenv("HPM_AGGREGATE_TIMEOUT");
	found = mmap(NULL, JOB_MAX * sizeof(*found), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(found != MAP_FAILED);
	here_now = mmap(NULL, sizeof(*here_now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	CHECK(here_now != MAP_FAILED);
}

static inline double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void sleep_ms(long ms)
{
	const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* Waits until so many have come; who waits may be one of them. */
static inline void wait_for(int tasks)
{
	while (*here_now < tasks)
		sleep_ms(1);
}

static inline void come_together(int tasks)
{
	++*here_now;
	wait_for(tasks);
}

/* The total that tests make: order is a number that another order of merging would change. */
struct sum {
	long long n, sum, order;
};

static inline int merge_sums(hpm_blob *into, const hpm_blob *other, void *context)
{
	struct sum *one = into->data;
	const struct sum *two = other->data;

	(void)context;
	CHECK_EQ(into->size, sizeof(*one));
	CHECK_EQ(other->size, sizeof(*two));
	one->n += two->n;
	one->sum += two->sum;
	one->order = (one->order * 31 + two->order * 7) % 1000000007;
	return 0;
}

static inline hpm_blob own_sum(int task)
{
	struct sum *sum = malloc(sizeof(*sum));

	CHECK(sum);
	*sum = (struct sum){1, task, task + 1};
	return (hpm_blob){sum, sizeof(*sum)};
}

/* What the tree's order of merging gives for all tasks. */
static inline struct sum expected_sum(int task, int tasks)
{
	hpm_blob blob = own_sum(task);
	struct sum total;

	for (int child = 16 * task + 1; child <= 16 * task + 16 && child < tasks; child++) {
		struct sum below = expected_sum(child, tasks);

		merge_sums(&blob, &(hpm_blob){&below, sizeof(below)}, NULL);
	}
	memcpy(&total, blob.data, sizeof(total));
	free(blob.data);
	return total;
}

static inline void set_task(int task)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", task);
	setenv("PMI_RANK", number, 1);
}

/* One reduction and one share; returns whether both succeeded. */
static inline int one_reduction(hpm_tree *tree, struct found *my)
{
	const double begin = now_s();
	hpm_blob blob = own_sum(hpm_tree_task(tree));
	const hpm_gap *gaps;

	my->reduced = hpm_tree_reduce(tree, &blob, merge_sums, NULL);
	my->was_root = hpm_tree_is_root(tree);
	if (!my->reduced)
		my->reduced = hpm_tree_share(tree, &blob);
	my->seconds = now_s() - begin;
	if (!my->reduced && blob.size == sizeof(struct sum)) {
		const struct sum *sum = blob.data;

		my->n = sum->n;
		my->sum = sum->sum;
		my->order = sum->order;
	}
	if (my->reduced)
		snprintf(my->error, sizeof(my->error), "%s", hpm_tree_error());
	free(blob.data);
	my->n_gaps = hpm_tree_missing(tree, &gaps);
	my->gaps[0] = 0;
	for (int i = 0; i < my->n_gaps; i++)
		snprintf(my->gaps + strlen(my->gaps), sizeof(my->gaps) - strlen(my->gaps),
			 "%d-%d %s%s|", gaps[i].first, gaps[i].last, gaps[i].is_in ? "(in) " : "",
			 gaps[i].why);
	return !my->reduced;
}

/* A task from its join to its end. */
static inline void whole_task(int task, int reductions)
{
	struct found *my = &found[task];
	hpm_tree *tree;

	my->opened = hpm_tree_open(&tree);
	if (my->opened) {
		snprintf(my->error, sizeof(my->error), "%s", hpm_tree_error());
		return;
	}
	for (int i = 0; i < reductions; i++)
		if (!one_reduction(tree, my))
			break;
	hpm_tree_close(tree);
}

static pid_t task_process[JOB_MAX];

/* Forks one task; `body` runs in it. */
static inline void start_task(int task, void (*body)(int task))
{
	fflush(NULL);
	task_process[task] = fork();
	CHECK(task_process[task] >= 0);
	if (task_process[task])
		return;
	set_task(task);
	body(task);
	_exit(0);
}

/* Waits for all; those that are killed on purpose are waited for by the test. */
static inline void end_tasks(int tasks)
{
	for (int task = 0; task < tasks; task++) {
		int status;

		if (task_process[task] <= 0)
			continue;
		CHECK_EQ(waitpid(task_process[task], &status, 0), task_process[task]);
		CHECK_EQ(status, 0);
		task_process[task] = 0;
	}
}

/* How many entries a directory has; "." and ".." are none. */
static inline int entries_in(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int n = 0;

	CHECK(folder);
	while ((entry = readdir(folder)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(folder);
	return n;
}

static inline int remove_one(const char *path, const struct stat *is, int kind, struct FTW *where)
{
	(void)is;
	(void)kind;
	(void)where;
	return remove(path);
}

/* Where the last one was killed, nobody removed the directory. */
static inline void remove_job(void)
{
	CHECK_EQ(nftw(job_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Nothing is left of the job, and its folder goes. */
static inline void check_clean(void)
{
	CHECK_EQ(entries_in(job_folder), 0);
	CHECK_EQ(rmdir(job_folder), 0);
}

#endif
