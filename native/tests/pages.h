/* Page faults of a known number. */
#ifndef GNOMON_TESTS_PAGES_H
#define GNOMON_TESTS_PAGES_H

#include "check.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each page is one page fault. */
static inline void touch_pages(size_t n)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *pages =
		mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	madvise((void *)pages, n * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		pages[i * size] = 1;
	munmap((void *)pages, n * size);
}

#endif
