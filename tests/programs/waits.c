/*
 * Waits in known ways and says how long each took: `NAME SECONDS` a line, by clocks of its own. The
 * main thread sleeps, computes, waits for a lock, a pipe, a condition variable and a CPU that
 * another thread takes half of. `cpu` is CPU time of its own, `ready` the time in which it could
 * have run and had no CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "first_cpu.h"

#define SECONDS 0.4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static int is_open, ends[2];

static double read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) void sleep_for(double seconds)
{
	struct timespec left = {.tv_nsec = (long)(1e9 * seconds)};

	while (nanosleep(&left, &left))
		;
}

__attribute__((noinline)) void compute(double seconds)
{
	const double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
	volatile double x = 1;

	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			x = x * 1.0000001;
}

__attribute__((noinline)) void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void read_pipe(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		abort();
}

__attribute__((noinline)) void wait_for_condition(void)
{
	pthread_mutex_lock(&gate);
	while (!is_open)
		pthread_cond_wait(&opened, &gate);
	pthread_mutex_unlock(&gate);
}

static void *serve(void *unused)
{
	pthread_setname_np(pthread_self(), "server");
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&together);
	sleep_for(SECONDS);
	pthread_mutex_unlock(&lock);
	sleep_for(SECONDS);
	if (write(ends[1], "x", 1) != 1)
		abort();
	sleep_for(SECONDS);
	pthread_mutex_lock(&gate);
	is_open = 1;
	pthread_cond_signal(&opened);
	pthread_mutex_unlock(&gate);
	choose_first_cpu();
	pthread_barrier_wait(&together);
	compute(SECONDS);
	return unused;
}

static double ready;

static void measure(const char *name, void (*wait)(void))
{
	const double begin = read_clock(CLOCK_MONOTONIC);

	wait();
	printf("%s %.6f\n", name, read_clock(CLOCK_MONOTONIC) - begin);
}

static void measured_compute(void)
{
	const double begin = read_clock(CLOCK_MONOTONIC);

	compute(SECONDS);
	ready += read_clock(CLOCK_MONOTONIC) - begin - SECONDS;
}

static void measured_sleep(void)
{
	sleep_for(SECONDS);
}

int main(void)
{
	pthread_t server;

	if (pipe(ends) || pthread_barrier_init(&together, NULL, 2))
		return 1;
	measure("sleep", measured_sleep);
	measured_compute();
	pthread_create(&server, NULL, serve, NULL);
	pthread_barrier_wait(&together);
	measure("lock", wait_for_lock);
	measure("read: pipe", read_pipe);
	measure("condition variable", wait_for_condition);
	choose_first_cpu();
	pthread_barrier_wait(&together);
	measured_compute();
	pthread_join(server, NULL);
	printf("waiting for a CPU %.6f\n", ready);
	printf("cpu %.6f\n", read_clock(CLOCK_THREAD_CPUTIME_ID));
	return 0;
}
