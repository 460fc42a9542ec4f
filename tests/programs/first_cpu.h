/* Confines a thread, and those that it creates, to the first CPU that it may use. */
#ifndef FIRST_CPU_H
#define FIRST_CPU_H

#include <sched.h>

static inline void choose_first_cpu(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus)) {
			CPU_ZERO(&cpus);
			CPU_SET(cpu, &cpus);
			break;
		}
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

#endif
