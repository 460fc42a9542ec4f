/* Two processes that pass a byte back and forth ROUNDS times, on one CPU: each waits for the other.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	int there[2], back[2], status = 1;
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus)) {
			CPU_ZERO(&cpus);
			CPU_SET(cpu, &cpus);
			break;
		}
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (pipe(there) || pipe(back))
		return 1;
	if (!fork())
		_exit(pass(there[0], back[1], rounds, 0));
	if (pass(back[0], there[1], rounds, 1))
		return 1;
	wait(&status);
	return status != 0;
}
