/*
 * pthread_atfork(3) for a child. A library of ours may be loaded into programs of another C
 * library, by LD_PRELOAD, which would not begin for want of a function that is glibc's alone.
 */
#ifndef GNOMON_AT_FORK_H
#define GNOMON_AT_FORK_H

#include <errno.h>
#include <features.h>
#include <pthread.h>

#if defined(__GLIBC__)
/* What its pthread_atfork(), a part of each program and library, calls. */
extern int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
			     void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));
#endif

/* 0 or an errno: the child will not be told. */
static inline int gn_at_fork(void (*child)(void))
{
#if defined(__GLIBC__)
	return __register_atfork ? __register_atfork(NULL, NULL, child, &__dso_handle) : ENOSYS;
#else
	return pthread_atfork(NULL, NULL, child);
#endif
}

#endif
