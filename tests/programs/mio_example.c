/*
 * The calls and sizes of Example 8-1 of IBM's HPC Toolkit manual: 100 writes of 16 KiB, 100 reads
 * forwards, 100 backwards, and the file cut to nothing. Mends that its text needs on Linux, which
 * docs/io/mio-reference.md lists:
 *  1. USE_MIO_DEFINES in the place of its own #defines: <fcntl.h> does not make open64 of open
 * here.
 *  2. MIO_user.h stands behind all other headers, whose declarations its macros would change.
 *  3. <stdlib.h> and <string.h> for malloc, exit and memset.
 *  4. main returns int.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USE_MIO_DEFINES
#include "MIO_user.h"

#define RECORD_BYTES 16384
#define RECORDS 100

int main(int argc, char **argv)
{
	char *buffer = malloc(RECORD_BYTES);
	int fd, failures = 0;

	if (argc < 2 || !buffer) {
		fprintf(stderr, "usage: mio_example FILE\n");
		return 2;
	}
	memset(buffer, 0, RECORD_BYTES);
	fd = open(argv[1], O_RDWR | O_TRUNC | O_CREAT, 0640);
	if (fd < 0) {
		fprintf(stderr, "cannot open %s: errno %d\n", argv[1], errno);
		return 1;
	}
	for (int i = 0; i < RECORDS; i++)
		failures += write(fd, buffer, RECORD_BYTES) != RECORD_BYTES;
	failures += lseek(fd, 0, SEEK_SET) != 0;
	for (int i = 0; i < RECORDS; i++)
		failures += read(fd, buffer, RECORD_BYTES) != RECORD_BYTES;
	for (int i = RECORDS - 1; i >= 0; i--) {
		failures += lseek(fd, i * RECORD_BYTES, SEEK_SET) != i * RECORD_BYTES;
		failures += read(fd, buffer, RECORD_BYTES) != RECORD_BYTES;
	}
	failures += ftruncate(fd, 0) != 0;
	failures += close(fd) != 0;
	free(buffer);
	return failures != 0;
}
