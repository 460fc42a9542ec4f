/*
 * Nanoseconds of a request of 16 bytes, as any program has it: by the C library's calls.
 *
 *	bench_small_requests write|read PATH COUNT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int n, char **words)
{
	const int writes = n == 4 && !strcmp(words[1], "write");
	const long count = n == 4 ? atol(words[3]) : 0;
	char buffer[16] = "fifteen letters";
	double begin;
	int fd;

	if (count <= 0)
		return 2;
	fd = open(words[2], writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
	begin = now();
	for (long i = 0; i < count; i++) {
		const ssize_t moved = writes ? write(fd, buffer, sizeof(buffer))
					     : pread(fd, buffer, sizeof(buffer), i % 250 * 16);

		if (moved != sizeof(buffer))
			return 1;
	}
	printf("%.2f\n", (now() - begin) / (double)count);
	return close(fd);
}
