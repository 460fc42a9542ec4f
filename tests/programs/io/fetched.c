/*
 * Touches pages of mapped files that are not in memory, of one with a child, and says how many of
 * each the kernel had to fetch: none on a file system that is memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 400
#define STRIDE 7 /* whatever the kernel reads around a page */

static long fetched(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return usage.ru_majflt;
}

static volatile const char *map(const char *path)
{
	static char data[PAGES * PAGE];
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	char *mapped;

	if (fd < 0 || write(fd, data, sizeof(data)) != (ssize_t)sizeof(data) || fsync(fd) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		exit(1);
	mapped = mmap(NULL, sizeof(data), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED || madvise(mapped, sizeof(data), MADV_RANDOM))
		exit(2);
	return mapped;
}

static void touch(volatile const char *mapped, int from, int to)
{
	for (int page = from; page < to; page++)
		(void)mapped[(size_t)(page * STRIDE % PAGES) * PAGE];
}

int main(void)
{
	volatile const char *mapped = map("own");
	long before = fetched(RUSAGE_SELF), own, both;
	int status;
	pid_t child;

	touch(mapped, 0, 50);
	own = fetched(RUSAGE_SELF) - before;
	munmap((char *)(size_t)mapped, PAGES * PAGE);
	mapped = map("both");
	before = fetched(RUSAGE_SELF);
	touch(mapped, 0, 30);
	both = fetched(RUSAGE_SELF) - before;
	fflush(NULL);
	child = fork();
	if (!child) {
		before = fetched(RUSAGE_SELF);
		touch(mapped, 30, 50);
		_exit((int)(fetched(RUSAGE_SELF) - before));
	}
	waitpid(child, &status, 0);
	printf("%ld %ld\n", own, both + WEXITSTATUS(status));
	return 0;
}
