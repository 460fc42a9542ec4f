/* Built with _FORTIFY_SOURCE: __open_2, __openat_2, __read_chk, __pread_chk, __readlink_chk. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

enum { SIZE = 1000, READS = 10 };

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 3, 0, 0},	   {"data", "openat", "posix", 1, 0, 0},
	{"data", "write", "posix", 1, SIZE, SIZE}, {"data", "read", "posix", READS, SIZE, SIZE},
	{"data", "pread", "posix", 2, SIZE, SIZE}, {"data", "close", "posix", 4, 0, 0},
	{"link", "symlink", "posix", 1, 0, 0},	   {"link", "readlink", "posix", 1, ANY, ANY},
	{"folder", "mkdir", "posix", 1, 0, 0},	   {"folder", "open", "posix", 1, 0, 0},
	{"folder", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	/* What the compiler cannot see: then the size of the buffer is checked in the call. */
	volatile size_t part = SIZE / READS, half = SIZE / 2;
	volatile int flags = O_RDONLY;
	char bytes[SIZE], target[64];
	int fd, folder;

	TELL(argc, argv, EXPECTED);
	fill(bytes, SIZE, 0);
	begin();
	fd = open("data", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, SIZE) == SIZE && close(fd) == 0);
	fd = open("data", flags);
	CHECK(fd >= 0);
	for (size_t i = 0; i < READS; i++) {
		CHECK(read(fd, bytes, part) == (ssize_t)part);
		CHECK(is_filled(bytes, part, i * part));
	}
	CHECK(close(fd) == 0);
	fd = open64("data", flags);
	CHECK(fd >= 0 && pread(fd, bytes, half, 7) == SIZE / 2 && is_filled(bytes, half, 7));
	CHECK(pread64(fd, bytes, half, 11) == SIZE / 2 && is_filled(bytes, half, 11));
	CHECK(close(fd) == 0);
	CHECK(mkdir("folder", 0700) == 0);
	folder = open("folder", O_RDONLY | O_DIRECTORY);
	fd = openat(folder, "../data", flags);
	CHECK(folder >= 0 && fd >= 0 && close(fd) == 0 && close(folder) == 0);
	CHECK(symlink("data", "link") == 0);
	/* So that the size is known only when it runs. */
	CHECK(readlink("link", target, part / 2) == 4 && memcmp(target, "data", 4) == 0);
	end();
	say("fortified: %d bytes in %d reads\n", SIZE, READS);
	return 0;
}
