/* Each open has an offset of its own, what is duplicated shares one, and pread moves none. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 4, 0, 0},	 {"data", "write", "posix", 2, 1010, 1010},
	{"data", "pwrite", "posix", 1, 10, 10},	 {"data", "read", "posix", 5, 650, 580},
	{"data", "pread", "posix", 2, 200, 110}, {"data", "lseek", "posix", 7, 0, 0},
	{"data", "dup", "posix", 1, 0, 0},	 {"data", "close", "posix", 5, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[1000];
	int first, second, copy, end_fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	first = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(first >= 0 && write(first, bytes, 1000) == 1000 && close(first) == 0);
	first = open("data", O_RDWR);
	second = open("data", O_RDONLY);
	CHECK(first >= 0 && second >= 0);
	CHECK(lseek(first, 500, SEEK_SET) == 500);
	CHECK(read(second, bytes, 100) == 100 && is_filled(bytes, 100, 0));
	CHECK(read(first, bytes, 100) == 100 && is_filled(bytes, 100, 500));
	CHECK(pread(second, bytes, 100, 900) == 100 && is_filled(bytes, 100, 900));
	CHECK(lseek(second, 0, SEEK_CUR) == 100);
	copy = dup(first);
	CHECK(copy >= 0 && read(copy, bytes, 50) == 50 && is_filled(bytes, 50, 600));
	CHECK(lseek(first, 0, SEEK_CUR) == 650);
	CHECK(pwrite(first, "0123456789", 10, 2000) == 10 && lseek(copy, 0, SEEK_CUR) == 650);
	/* A second open with O_APPEND goes on at the end, wherever that is now. */
	end_fd = open("data", O_RDWR | O_APPEND);
	CHECK(end_fd >= 0 && lseek(end_fd, 0, SEEK_CUR) == 0 &&
	      write(end_fd, "abcdefghij", 10) == 10);
	CHECK(lseek(end_fd, 0, SEEK_CUR) == 2020);
	CHECK(pread(second, bytes, 100, 2010) == 10 && memcmp(bytes, "abcdefghij", 10) == 0);
	CHECK(lseek(second, 1990, SEEK_SET) == 1990);
	CHECK(read(second, bytes, 100) == 30 && memcmp(bytes + 10, "0123456789", 10) == 0);
	CHECK(read(first, bytes, 300) == 300 && is_filled(bytes, 300, 650));
	CHECK(close(first) == 0 && close(second) == 0 && close(copy) == 0 && close(end_fd) == 0);
	end();
	say("offsets: 2020 bytes\n");
	return 0;
}
