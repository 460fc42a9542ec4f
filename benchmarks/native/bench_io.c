/*
 * Nanoseconds of a small call on a file that is in memory: argument 1 is its path, 2 how many calls
 * of each kind. Prints "NAME NANOSECONDS" for each.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "now.h"

static char text[16384];

#define MEASURE(name, call)                                                                        \
	do {                                                                                       \
		double begin = now_ns();                                                           \
		for (long i = 0; i < n; i++)                                                       \
			if ((call) < 0)                                                            \
				exit(1);                                                           \
		printf(name " %.2f\n", (now_ns() - begin) / (double)n);                            \
	} while (0)

int main(int n_words, char **words)
{
	const int fd = n_words > 2 ? open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	const long n = n_words > 2 ? atol(words[2]) : 0;
	FILE *stream = n_words > 2 ? fopen(words[1], "r+") : NULL;

	if (fd < 0 || !stream || write(fd, text, sizeof(text)) < 0)
		return 1;
	MEASURE("lseek", lseek(fd, 0, SEEK_SET));
	MEASURE("read", read(fd, text, 4));
	MEASURE("pread", pread(fd, text, 4, 0));
	MEASURE("pwrite", pwrite(fd, text, 4, 0));
	MEASURE("fgetc", fgetc(stream) == EOF ? fseek(stream, 0, SEEK_SET) : 0);
	return 0;
}
