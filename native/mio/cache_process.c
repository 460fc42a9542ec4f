#include "cache_process.h"

#include <pthread.h>

#include "inode.h"
#include "page_cache.h"
#include "prefetch_pool.h"

unsigned int gn_cache_process;
__thread volatile unsigned int gn_calls_entered;

static void begin_child(void)
{
	gn_cache_process++;
	gn_inodes_after_fork();
	gn_page_caches_after_fork();
	gn_prefetch_pool_after_fork();
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, begin_child);
}

void gn_cache_process_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
}
