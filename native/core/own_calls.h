/*
 * System calls of ours in a measured program. Not by the C library's functions: those are where a
 * thread that is cancelled ends, with our locks held, and a library that records the program's
 * calls of them would record ours.
 */
#ifndef GNOMON_CORE_OWN_CALLS_H
#define GNOMON_CORE_OWN_CALLS_H

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* As read(2). */
static inline ssize_t gn_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

/* Memory of zeros, not of malloc(3): what is measured may be called within that, or by a signal's
 * handler. NULL: there is none. */
static inline void *gn_take_memory(size_t bytes)
{
	const long memory = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	return memory == -1 ? NULL : (void *)memory;
}

static inline void gn_give_memory(void *memory, size_t bytes)
{
	if (memory)
		syscall(SYS_munmap, memory, bytes);
}

/* Waits for less than a second. */
static inline void gn_pause(long ns)
{
	const struct timespec length = {0, ns};

	syscall(SYS_nanosleep, &length, NULL);
}

#endif
