/*
 * System calls of ours in a measured program. Not by the C library's functions: those are where a
 * thread that is cancelled ends, with our locks held, and a library that records the program's
 * calls of them would record ours.
 */
#ifndef GNOMON_CORE_OWN_CALLS_H
#define GNOMON_CORE_OWN_CALLS_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* As read(2). */
static inline ssize_t gn_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

/* Waits for less than a second. */
static inline void gn_pause(long ns)
{
	const struct timespec length = {0, ns};

	syscall(SYS_nanosleep, &length, NULL);
}

#endif
