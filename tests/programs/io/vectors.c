/* Vectors of buffers: readv, writev, preadv, pwritev and their second versions, with an offset of
 * -1. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/uio.h>

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},	  {"data", "writev", "posix", 2, 110, 110},
	{"data", "pwritev", "posix", 1, 60, 60},  {"data", "pwritev2", "posix", 2, 120, 120},
	{"data", "readv", "posix", 3, 60, 60},	  {"data", "preadv", "posix", 1, 60, 60},
	{"data", "preadv2", "posix", 2, 120, 90}, {"data", "lseek", "posix", 3, 0, 0},
	{"data", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[60], seen[60];
	struct iovec out[] = {{bytes, 10}, {bytes + 10, 0}, {bytes + 10, 20}, {bytes + 30, 30}};
	struct iovec in[] = {{seen, 25}, {seen + 25, 35}};
	struct iovec single[50];
	/* As a compiler that warns of it does not know it. */
	struct iovec *volatile nowhere = NULL;
	volatile int wrong = -1;
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	/* More than strace shows of a vector unless told to. */
	for (int i = 0; i < 50; i++)
		single[i] = (struct iovec){bytes + i, 1};
	begin();
	fd = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && writev(fd, out, 4) == 60);
	CHECK(writev(fd, single, 50) == 50 && lseek(fd, 0, SEEK_CUR) == 110);
	CHECK(pwritev(fd, out, 4, 200) == 60);
	CHECK(pwritev2(fd, out, 4, 300, 0) == 60 && pwritev2(fd, out, 4, -1, 0) == 60);
	CHECK(lseek(fd, 0, SEEK_CUR) == 170);
	CHECK(preadv(fd, in, 2, 200) == 60 && is_filled(seen, 60, 0));
	CHECK(preadv2(fd, in, 2, 300, 0) == 60 && is_filled(seen, 60, 0));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(readv(fd, in, 2) == 60 && is_filled(seen, 60, 0));
	CHECK(preadv2(fd, in, 2, 330, 0) == 30 && is_filled(seen, 30, 30));
	CHECK(readv(fd, in, 0) == 0);
	CHECK(readv(fd, nowhere, wrong) == -1 && errno == EINVAL);
	CHECK(close(fd) == 0);
	end();
	say("vectors: 360 bytes\n");
	return 0;
}
