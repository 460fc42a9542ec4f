/*
 * Two processes that pass a byte back and forth ROUNDS times, on one CPU: each waits for the other.
 * Prints how many nanoseconds of CPU time a switch took.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "first_cpu.h"

static int pass(int from, int to, int rounds, int begins)
{
	char byte = 0;

	if (begins && write(to, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < rounds; i++)
		if (read(from, &byte, 1) != 1 || (i + begins < rounds && write(to, &byte, 1) != 1))
			return 1;
	return 0;
}

static double cpu_ns(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	int there[2], back[2], status = 1;
	double begin;

	choose_first_cpu();
	if (pipe(there) || pipe(back))
		return 1;
	if (!fork())
		_exit(pass(there[0], back[1], rounds, 0));
	begin = cpu_ns(RUSAGE_SELF);
	if (pass(back[0], there[1], rounds, 1))
		return 1;
	begin -= cpu_ns(RUSAGE_SELF);
	wait(&status);
	printf("%.1f\n", (cpu_ns(RUSAGE_CHILDREN) - begin) / (2.0 * rounds));
	return status != 0;
}
