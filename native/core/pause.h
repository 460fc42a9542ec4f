/* A wait of ours, which the program and who looks at its calls have nothing to do with. */
#ifndef GNOMON_CORE_PAUSE_H
#define GNOMON_CORE_PAUSE_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Not nanosleep(): a library that records the program's calls of it would record this one. */
static inline void gn_pause(long ns)
{
	const struct timespec length = {0, ns};

	syscall(SYS_nanosleep, &length, NULL);
}

#endif
