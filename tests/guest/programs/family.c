/*
 * family PROCESSES THREADS ROUNDS: children and threads that each do work of known size.
 *
 * Forks PROCESSES children one after the other; each starts THREADS threads, each of which spins
 * for ROUNDS. The parent itself spins for none.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define MOST_THREADS 64

static uint64_t rounds;

static void *work(void *unused)
{
	spin(rounds);
	return unused;
}

static int be_a_child(int threads)
{
	pthread_t thread[MOST_THREADS];

	for (int i = 0; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const int processes = argc == 4 ? atoi(argv[1]) : 0;
	const int threads = argc == 4 ? atoi(argv[2]) : 0;
	int failed = 0;

	if (processes < 1 || threads < 1 || threads > MOST_THREADS) {
		fprintf(stderr, "usage: family PROCESSES THREADS ROUNDS\n");
		return 2;
	}
	rounds = strtoull(argv[3], NULL, 10);
	for (int i = 0; i < processes; i++) {
		const pid_t child = fork();
		int status;

		if (child == 0)
			_exit(be_a_child(threads));
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			failed = 1;
	}
	return failed;
}
