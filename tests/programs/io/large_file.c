/* The names with 64: what programs call that are built for large files on 32-bit machines, too. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define FAR ((off64_t)5 << 30)

static const struct expected EXPECTED[] = {
	{"data", "creat", "posix", 1, 0, 0},	 {"data", "open", "posix", 1, 0, 0},
	{"data", "close", "posix", 2, 0, 0},	 {"data", "write", "posix", 1, 8, 8},
	{"data", "pwrite", "posix", 1, 8, 8},	 {"data", "pread", "posix", 2, 24, 8},
	{"data", "preadv", "posix", 1, 8, 8},	 {"data", "pwritev", "posix", 1, 8, 8},
	{"data", "lseek", "posix", 3, 0, 0},	 {"data", "read", "posix", 1, 8, 8},
	{"data", "ftruncate", "posix", 1, 0, 0}, {"data", "truncate", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[8], seen[16];
	struct iovec whole = {bytes, sizeof(bytes)}, into = {seen, sizeof(bytes)};
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	fd = creat64("data", 0640);
	CHECK(fd >= 0 && write(fd, bytes, 8) == 8 && close(fd) == 0);
	fd = open64("data", O_RDWR);
	CHECK(fd >= 0 && pwrite64(fd, bytes, 8, FAR) == 8);
	CHECK(pread64(fd, seen, 8, FAR) == 8 && memcmp(seen, bytes, 8) == 0);
	CHECK(pread64(fd, seen, 16, FAR + 8) == 0);
	CHECK(pwritev64(fd, &whole, 1, FAR + 8) == 8 && preadv64(fd, &into, 1, FAR + 8) == 8);
	CHECK(memcmp(seen, bytes, 8) == 0);
	CHECK(lseek64(fd, 0, SEEK_CUR) == 0 && lseek64(fd, FAR, SEEK_SET) == FAR);
	CHECK(read(fd, seen, 8) == 8 && lseek64(fd, 0, SEEK_END) == FAR + 16);
	CHECK(ftruncate64(fd, FAR) == 0 && truncate64("data", 8) == 0 && close(fd) == 0);
	end();
	say("large_file: 8 bytes at 5 GiB\n");
	return 0;
}
