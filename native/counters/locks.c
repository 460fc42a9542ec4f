/* Locks that a fork leaves whole. */
#include "locks.h"

#include <pthread.h>

static pthread_mutex_t mutexes[GN_LOCKS] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	for (int i = 0; i < GN_LOCKS; i++)
		pthread_mutex_lock(&mutexes[i]);
}

static void after_fork(void)
{
	for (int i = GN_LOCKS - 1; i >= 0; i--)
		pthread_mutex_unlock(&mutexes[i]);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

void gn_lock(enum gn_lock lock)
{
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&mutexes[lock]);
}

void gn_unlock(enum gn_lock lock)
{
	pthread_mutex_unlock(&mutexes[lock]);
}
