/*
 * The threads of a process that call what is measured, and what each keeps of its calls. Threads
 * may come and go without end: the sums of one that has ended go on with the next one that begins.
 */
#ifndef GNOMON_SITE_THREADS_H
#define GNOMON_SITE_THREADS_H

#include <stddef.h>

#include "places.h"

/*
 * For the calling thread: `bytes` of zeros, or what a thread that has ended left, which begin with
 * a struct gn_site_thread. Of a process all have as many. NULL without memory.
 */
struct gn_site_thread *gn_site_thread_take(size_t bytes);

/* At the thread's end. */
void gn_site_thread_give_back(struct gn_site_thread *thread);

/*
 * In a child of a fork, before it calls what is measured, and with no other thread: the file, the
 * threads and the stacks are its parent's, and a new file may be opened.
 */
void gn_call_sites_forget(void);

#endif
