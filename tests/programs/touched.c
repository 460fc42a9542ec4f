/*
 * Page faults of known places: thread N of THREADS touches N times PAGES fresh pages of a part of
 * its own, and between them all works without touching any. It says where the parts are:
 *
 *	touched PAGES [THREADS]		THREAD_ID START END, for each
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 16

struct part {
	char *start;
	size_t pages;
};

static size_t page_size;
static volatile unsigned long result;

__attribute__((noinline)) static void touch(struct part part)
{
	for (size_t i = 0; i < part.pages; i++)
		((volatile char *)part.start)[i * page_size] = 1;
	__asm__ volatile("");
}

__attribute__((noinline)) static void compute(unsigned long x)
{
	for (int i = 0; i < 60000000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	result = x;
}

static void *work(void *argument)
{
	const struct part *part = argument;
	const struct part half = {part->start, part->pages / 2};
	const struct part rest = {part->start + half.pages * page_size, part->pages - half.pages};

	touch(half);
	compute(part->pages);
	touch(rest);
	printf("%ld %p %p\n", syscall(SYS_gettid), (void *)part->start,
	       (void *)(part->start + part->pages * page_size));
	return NULL;
}

int main(int argc, char **argv)
{
	const size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	const int threads = argc > 2 ? atoi(argv[2]) : 1;
	struct part part[THREADS_MAX];
	pthread_t thread[THREADS_MAX];

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	for (int i = 0; i < threads; i++) {
		const size_t n = pages * (size_t)(i + 1);

		part[i].start = mmap(NULL, n * page_size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		part[i].pages = n;
		if (part[i].start == MAP_FAILED)
			return 1;
		/* Huge pages would take one fault for many; a kernel without them refuses. */
		(void)madvise(part[i].start, n * page_size, MADV_NOHUGEPAGE);
		if (pthread_create(&thread[i], NULL, work, &part[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
