/* /proc and /dev: files without a size, and devices. */
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

static const struct expected EXPECTED[] = {
	{"/proc/self/status", "open", "posix", 1, 0, 0},
	{"/proc/self/status", "read", "posix", 2, 20, 20},
	{"/proc/self/status", "lseek", "posix", 1, 0, 0},
	{"/proc/self/status", "fstat", "posix", 1, 0, 0},
	{"/proc/self/status", "close", "posix", 1, 0, 0},
	{"/dev/zero", "open", "posix", 1, 0, 0},
	{"/dev/zero", "read", "posix", 10, 1000, 1000},
	{"/dev/zero", "close", "posix", 1, 0, 0},
	{"/dev/full", "open", "posix", 1, 0, 0},
	{"/dev/full", "write", "posix", 1, 100, 0},
	{"/dev/full", "close", "posix", 1, 0, 0},
	{"/dev/urandom", "open", "posix", 1, 0, 0},
	{"/dev/urandom", "read", "posix", 1, 16, 16},
	{"/dev/urandom", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[100], first[10];
	struct stat status;
	int fd;

	TELL(argc, argv, EXPECTED);
	begin();
	fd = open("/proc/self/status", O_RDONLY);
	CHECK(fd >= 0 && read(fd, first, 10) == 10 && memcmp(first, "Name:\tdevi", 10) == 0);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, bytes, 10) == 10);
	CHECK(memcmp(first, bytes, 10) == 0);
	CHECK(fstat(fd, &status) == 0 && status.st_size == 0 && close(fd) == 0);
	fd = open("/dev/zero", O_RDONLY);
	CHECK(fd >= 0);
	for (int i = 0; i < 10; i++)
		CHECK(read(fd, bytes, 100) == 100 && bytes[0] == 0 && bytes[99] == 0);
	CHECK(close(fd) == 0);
	fd = open("/dev/full", O_WRONLY);
	CHECK(fd >= 0 && write(fd, bytes, 100) == -1 && errno == ENOSPC && close(fd) == 0);
	fd = open("/dev/urandom", O_RDONLY);
	CHECK(fd >= 0 && read(fd, bytes, 16) == 16 && close(fd) == 0);
	end();
	say("devices: %.5s\n", first);
	return 0;
}
