/*
 * Work that waits for CPUs: N threads that meet after each part of it, or N processes, one by one.
 *
 * contended threads|processes N ROUNDS
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 64, PARTS = 20 };

static pthread_barrier_t barrier;
static long rounds;

static void work(long n)
{
	volatile double sum = 1;

	for (long i = 0; i < n; i++)
		sum = sum * 1.0000001 + 1e-9;
}

static void *run(void *unused)
{
	for (int part = 0; part < PARTS; part++) {
		work(rounds / PARTS);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	const int n = argc == 4 ? atoi(argv[2]) : 0;

	if (n < 1 || n > THREADS_MAX)
		return 2;
	rounds = atol(argv[3]);
	if (strcmp(argv[1], "processes") == 0) {
		for (int i = 0; i < n; i++) {
			const pid_t child = fork();

			if (child == 0) {
				work(rounds);
				_exit(0);
			}
			if (child < 0 || waitpid(child, NULL, 0) < 0)
				return 1;
		}
		return 0;
	}
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (int i = 1; i < n; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 1;
	run(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
