/*
 * The life of a measured process, for a library inside it: its forks, its threads' ends, its exit.
 * What ends without an exit (a kill, _exit, exec) is seen afterwards, by what lies in files.
 */
#ifndef GNOMON_RUNTIME_LIFECYCLE_H
#define GNOMON_RUNTIME_LIFECYCLE_H

#include <stddef.h>

struct gn_lifecycle {
	size_t state_bytes; /* at most a page */
	/* Of this process, and of those that it forks; NULL: nothing is to be done. */
	void (*at_exit)(void);
	/* In a thread that told gn_lifecycle_watch_thread() something, which it gets. */
	void (*at_thread_end)(void *watched);
	/* For gn_lifecycle_watch_thread(). */
	unsigned int thread_key;
};

/*
 * Memory that belongs to this process and not to one that it forks: there it is zero, before
 * anything else runs. Called once a process and library; NULL: there is no memory, or the C
 * library has no room for one more key or handler.
 */
void *gn_lifecycle_begin(struct gn_lifecycle *life);

/* Called in a child that was forked. 0 or an errno. */
int gn_lifecycle_at_fork(void (*child)(void));

/* 0 or an errno. */
int gn_lifecycle_watch_thread(const struct gn_lifecycle *life, void *watched);

#endif
