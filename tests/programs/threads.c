/*
 * threads N CALLS STEP [in-turn]: N threads at once, named "worker I"; thread I makes
 * CALLS + I * STEP getppid system calls. They end when they are done, or one after the other once
 * all are: the next one then only goes when nothing is left of the one before.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

static struct {
	pthread_t thread;
	sem_t leave;
	long calls;
	int number;
	volatile int tid;
} worker[THREADS_MAX];

static void *work(void *which)
{
	const int me = *(int *)which;
	char name[16];

	snprintf(name, sizeof(name), "worker %d", me);
	pthread_setname_np(pthread_self(), name);
	worker[me].tid = (int)syscall(SYS_gettid);
	for (long i = 0; i < worker[me].calls; i++)
		syscall(SYS_getppid);
	sem_wait(&worker[me].leave);
	return NULL;
}

static void await_end_of(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (access(path, F_OK) == 0)
		sched_yield();
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0;
	const int in_turn = argc > 4;

	if (n < 0 || n > THREADS_MAX)
		return 2;
	for (int i = 0; i < n; i++) {
		worker[i].number = i;
		worker[i].calls =
			(argc > 2 ? atol(argv[2]) : 0) + i * (argc > 3 ? atol(argv[3]) : 0);
		if (sem_init(&worker[i].leave, 0, !in_turn) ||
		    pthread_create(&worker[i].thread, NULL, work, &worker[i].number))
			return 3;
	}
	for (int i = 0; i < n; i++) {
		sem_post(&worker[i].leave);
		pthread_join(worker[i].thread, NULL);
		if (in_turn)
			await_end_of(worker[i].tid);
	}
	return 0;
}
