/* The kernel clears the page (MADV_WIPEONFORK), or else the C library's fork does. */
#include "fork_page.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "at_fork.h"

/* In Linux since 4.14; the C library's headers may be older than the kernel. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Pages that the kernel does not clear. One process has few. */
#define UNCLEARED_MAX 64
static void *_Atomic uncleared[UNCLEARED_MAX];

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void clear(void)
{
	for (int i = 0; i < UNCLEARED_MAX; i++)
		if (uncleared[i])
			memset(uncleared[i], 0, page_bytes());
}

static void prepare_to_clear(void)
{
	gn_at_fork(clear);
}

/* 0, or -1: a child would take what is there for its own. */
static int clear_in_children(void *page)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!madvise(page, page_bytes(), MADV_WIPEONFORK))
		return 0;
	pthread_once(&once, prepare_to_clear);
	for (int i = 0; i < UNCLEARED_MAX; i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&uncleared[i], &none, page))
			return 0;
	}
	errno = ENOMEM;
	return -1;
}

void *gn_fork_page(void)
{
	void *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (clear_in_children(page)) {
		munmap(page, page_bytes());
		return NULL;
	}
	return page;
}

void gn_fork_page_free(void *page)
{
	for (int i = 0; i < UNCLEARED_MAX; i++) {
		void *own = page;

		atomic_compare_exchange_strong(&uncleared[i], &own, NULL);
	}
	munmap(page, page_bytes());
}
