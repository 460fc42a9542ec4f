/* What a fork clears, and who is told of ends. */
#include "lifecycle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* In Linux since 4.14; the C library's headers may be older than the kernel. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Where the kernel does not clear them. The libraries that stand on this one are few. */
#define STATES_MAX 8
static void *_Atomic uncleared[STATES_MAX];

static void clear(void)
{
	for (int i = 0; i < STATES_MAX; i++)
		if (uncleared[i])
			memset(uncleared[i], 0, (size_t)sysconf(_SC_PAGESIZE));
}

static void prepare_to_clear(void)
{
	pthread_atfork(NULL, NULL, clear);
}

/* 0, or -1: a child would take the state for its own. */
static int clear_in_children(void *state, size_t bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!madvise(state, bytes, MADV_WIPEONFORK))
		return 0;
	pthread_once(&once, prepare_to_clear);
	for (int i = 0; i < STATES_MAX; i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&uncleared[i], &none, state))
			return 0;
	}
	return -1;
}

void *gn_lifecycle_begin(struct gn_lifecycle *life)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *state;

	if (life->state_bytes > bytes)
		return NULL;
	state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return NULL;
	if ((life->at_thread_end && pthread_key_create(&life->thread_key, life->at_thread_end)) ||
	    (life->at_exit && atexit(life->at_exit)) || clear_in_children(state, bytes)) {
		munmap(state, bytes);
		return NULL;
	}
	return state;
}

int gn_lifecycle_watch_thread(const struct gn_lifecycle *life, void *watched)
{
	return pthread_setspecific(life->thread_key, watched);
}
