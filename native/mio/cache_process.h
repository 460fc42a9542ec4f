/*
 * What becomes of caches after a fork: the child has none of the helper threads, and locks that
 * they held stay locked. It forgets all and begins anew when a file is used.
 */
#ifndef GNOMON_MIO_CACHE_PROCESS_H
#define GNOMON_MIO_CACHE_PROCESS_H

/* Another number in each child: who remembers the number knows whether what it holds is its own. */
extern unsigned int gn_cache_process;

/*
 * The calls of files that this thread is in. More than one: a signal's handler came over one, which
 * may be what holds a cache's lock.
 */
extern __thread volatile unsigned int gn_calls_entered __attribute__((tls_model("initial-exec")));

static inline int gn_is_over_a_call(void)
{
	return gn_calls_entered > 1;
}

/* Before the first lock of a cache or thread. */
void gn_cache_process_watch(void);

#endif
