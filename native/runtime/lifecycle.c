/* Who is told of ends. */
#include "lifecycle.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "at_fork.h"
#include "fork_page.h"

void *gn_lifecycle_begin(struct gn_lifecycle *life)
{
	if (life->state_bytes > (size_t)sysconf(_SC_PAGESIZE) ||
	    (life->at_thread_end && pthread_key_create(&life->thread_key, life->at_thread_end)) ||
	    (life->at_exit && atexit(life->at_exit)))
		return NULL;
	return gn_fork_page();
}

int gn_lifecycle_watch_thread(const struct gn_lifecycle *life, void *watched)
{
	return pthread_setspecific(life->thread_key, watched);
}

int gn_lifecycle_at_fork(void (*child)(void))
{
	return gn_at_fork(child);
}
