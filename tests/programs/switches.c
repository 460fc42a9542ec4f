/*
 * Two processes that pass a byte back and forth ROUNDS times, on one CPU: each waits for the other.
 * The first one sleeps for so many nanoseconds every 16 rounds. Prints how many nanoseconds of CPU
 * time a switch took.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "first_cpu.h"

static int pass(int from, int to, int rounds, int begins, long sleep_ns)
{
	const struct timespec pause = {.tv_nsec = sleep_ns};
	char byte = 0;

	if (begins && write(to, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < rounds; i++) {
		if (read(from, &byte, 1) != 1)
			return 1;
		if (sleep_ns && i % 16 == 0)
			nanosleep(&pause, NULL);
		if (i + begins < rounds && write(to, &byte, 1) != 1)
			return 1;
	}
	return 0;
}

static double cpu_ns(int who, double *switches)
{
	struct rusage used;

	getrusage(who, &used);
	*switches = (double)used.ru_nvcsw;
	return 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	const long sleep_ns = argc > 2 ? atol(argv[2]) : 0;
	int there[2], back[2], status = 1;
	double before, after, of_child, ns, switches;

	choose_first_cpu();
	if (pipe(there) || pipe(back))
		return 1;
	if (!fork())
		_exit(pass(there[0], back[1], rounds, 0, 0));
	ns = -cpu_ns(RUSAGE_SELF, &before);
	if (pass(back[0], there[1], rounds, 1, sleep_ns))
		return 1;
	ns += cpu_ns(RUSAGE_SELF, &after);
	wait(&status);
	ns += cpu_ns(RUSAGE_CHILDREN, &of_child);
	switches = after - before + of_child;
	printf("%.1f\n", ns / switches);
	return status != 0;
}
