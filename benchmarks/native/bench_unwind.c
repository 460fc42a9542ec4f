/*
 * Unwinding of a program's stacks, of which copies are taken every other millisecond.
 *
 *	bench_unwind ROUNDS PROGRAM [ARGUMENT...]
 *
 * A line for each round: nanoseconds of a frame whose address was seen before, of an address that
 * is new, frames of a stack, percentage of complete stacks.
 */
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "code_space.h"
#include "stopped_process.h"

#define STACKS_MAX 500u
#define STACK_BYTES 32768u
#define FRAMES_MAX 1024u
/* A round unwinds all stacks so often. */
#define REPEATS 20

static struct stopped_stack stacks[STACKS_MAX];
static struct gn_unwind_files *files;
static struct gn_unwind_space *space;
static uint32_t n_stacks, n_frames, n_complete;

static pid_t start(char **argv)
{
	pid_t child = fork();

	if (child)
		return child;
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* CPU time: others may use the machine. */
static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pause_ms(long ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void unwind_all(void)
{
	static struct gn_unwind_frame frames[FRAMES_MAX];

	n_frames = n_complete = 0;
	for (uint32_t i = 0; i < n_stacks; i++) {
		const struct stopped_stack *stack = &stacks[i];
		struct gn_unwind_result result;

		CHECK_EQ(gn_unwind_stack(space, &stack->registers, stack->bytes,
					 stack->registers.value[7], stack->size, frames, FRAMES_MAX,
					 &result),
			 0);
		n_frames += result.n;
		n_complete += result.end == GN_UNWIND_COMPLETE;
	}
}

/* Forgets the rows of all addresses; how many there were. */
static uint32_t forget(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < files->n; i++) {
		n += files->files[i]->cache.n_used;
		gn_rule_cache_free(&files->files[i]->cache);
	}
	return n;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 2 ? atoi(argv[1]) : 0;
	pid_t child;

	if (!rounds) {
		fprintf(stderr, "usage: bench_unwind ROUNDS PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	child = start(argv + 2);
	CHECK(child > 0);
	pause_ms(200);
	CHECK_EQ(gn_unwind_files_new(&files), 0);
	CHECK_EQ(gn_unwind_space_new(&space, files, child), 0);
	while (n_stacks < STACKS_MAX && copy_stack(child, &stacks[n_stacks], STACK_BYTES)) {
		n_stacks++;
		pause_ms(2);
	}
	CHECK(n_stacks > STACKS_MAX / 2);
	map_all(space, child);
	unwind_all();
	for (int round = 0; round < rounds; round++) {
		double cold = 0, warm = 0;
		uint32_t n_new = 0;

		for (int i = 0; i < REPEATS; i++) {
			double begin;

			forget();
			begin = cpu_ns();
			unwind_all();
			cold += cpu_ns() - begin;
			begin = cpu_ns();
			unwind_all();
			warm += cpu_ns() - begin;
		}
		n_new = forget();
		printf("%.1f %.1f %.1f %.2f\n", warm / REPEATS / n_frames,
		       (cold - warm) / REPEATS / n_new, (double)n_frames / n_stacks,
		       100.0 * n_complete / n_stacks);
	}
	kill(child, SIGKILL);
	gn_unwind_space_free(space);
	gn_unwind_files_free(files);
	return 0;
}
