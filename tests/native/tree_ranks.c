/*
 * One task of a job, for the tests of the tree with real launchers: tree_ranks ACTION... The task
 * joins, does what its actions say, makes two reductions, and prints what came of them. With
 * WITH_MPI it is an MPI program. Actions:
 *
 *	die:TASK	ends before the tree is opened
 *	kill:TASK	is killed then
 *	absent:TASK	never joins, and ends
 *	late:TASK:MS	comes so much later than the others
 *	after		opens the tree after MPI_Finalize
 *	count		is hpmcount's
 *	large:BYTES	partials of so many bytes
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hpm_tree.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

static size_t size = 3 * sizeof(long long);

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long has(int n, char **argument, const char *action, int task, long otherwise)
{
	for (int i = 1; i < n; i++) {
		char *rest = argument[i] + strlen(action);

		if (strncmp(argument[i], action, strlen(action)) || *rest != ':' ||
		    strtol(rest + 1, &rest, 10) != task)
			continue;
		return *rest == ':' ? strtol(rest + 1, NULL, 10) : 1;
	}
	return otherwise;
}

static int is(int n, char **argument, const char *action)
{
	for (int i = 1; i < n; i++)
		if (!strcmp(argument[i], action))
			return 1;
	return 0;
}

/* Every number is a sum over tasks. */
static int merge(hpm_blob *into, const hpm_blob *other, void *context)
{
	long long *one = into->data;
	const long long *two = other->data;

	(void)context;
	for (size_t i = 0; i < size / sizeof(*one); i++)
		one[i] += two[i];
	return into->size != size || other->size != size;
}

static int reduce(hpm_tree *tree, int task, double *seconds, int *was_root)
{
	const double begin = now_s();
	hpm_blob blob = {malloc(size), size};
	long long *number = blob.data;
	int failed;

	for (size_t i = 0; i < size / sizeof(*number); i++)
		number[i] = (long long)(i + 1) * (task + 1);
	failed = hpm_tree_reduce(tree, &blob, merge, NULL);
	*was_root = hpm_tree_is_root(tree);
	if (!failed)
		failed = hpm_tree_share(tree, &blob);
	*seconds = now_s() - begin;
	number = blob.data;
	if (!failed && blob.size == size) {
		printf(" %lld", number[0]);
		for (size_t i = 0; i < size / sizeof(*number); i++)
			if (number[i] != (long long)(i + 1) * number[0])
				failed = -1;
	}
	free(blob.data);
	return failed;
}

/* Where all tasks are that come to it. */
static void aggregate(int n, char **argument, int task)
{
	const double begin = now_s();
	const hpm_gap *gaps;
	double seconds;
	hpm_tree *tree;
	char line[4096];
	int failed, was_root = 0, n_gaps;

	setvbuf(stdout, line, _IOFBF, sizeof(line));
	failed = hpm_tree_open(&tree);
	if (failed) {
		printf("task %d error %d: %s\n", task, failed, hpm_tree_error());
		return;
	}
	printf("task %d of %d:", hpm_tree_task(tree), hpm_tree_tasks(tree));
	for (int i = 0; i < 2 && !failed; i++)
		failed = reduce(tree, task, &seconds, &was_root);
	if (failed)
		printf(" error %d: %s", failed, hpm_tree_error());
	n_gaps = hpm_tree_missing(tree, &gaps);
	for (int i = 0; i < n_gaps; i++)
		printf(" | %d-%d %s", gaps[i].first, gaps[i].last, gaps[i].why);
	hpm_tree_close(tree);
	printf("%s in %.4f s\n", was_root ? " root" : "", now_s() - begin);
	fflush(stdout);
	(void)n;
	(void)argument;
}

int main(int n, char **argument)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK")
							  : getenv("PMI_RANK");
	const int task = rank ? atoi(rank) : 0;
	const int is_after = is(n, argument, "after");
	char where[4096];

	for (int i = 1; i < n; i++)
		if (!strncmp(argument[i], "large:", 6))
			size = strtoul(argument[i] + 6, NULL, 10) / 8 * 8;
#ifdef WITH_MPI
	MPI_Init(&n, &argument);
#endif
	if (!has(n, argument, "absent", task, 0) &&
	    hpm_job_join(is(n, argument, "count") ? "count" : "sections", where, sizeof(where)) ==
		    -1)
		return 1;
	if (has(n, argument, "die", task, 0))
		_exit(0);
	if (has(n, argument, "kill", task, 0))
		raise(SIGKILL);
#ifdef WITH_MPI
	MPI_Barrier(MPI_COMM_WORLD);
#else
	sleep(0);
#endif
	usleep((useconds_t)has(n, argument, "late", task, 0) * 1000);
	if (!is_after && !has(n, argument, "absent", task, 0))
		aggregate(n, argument, task);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	if (is_after && !has(n, argument, "absent", task, 0))
		aggregate(n, argument, task);
	return 0;
}
