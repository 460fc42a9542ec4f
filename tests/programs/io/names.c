/* What changes names and sizes, and a file that is written after its name is gone. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

static const struct expected EXPECTED[] = {
	{"first", "open", "posix", 1, 0, 0},	  {"first", "write", "posix", 1, 100, 100},
	{"first", "ftruncate", "posix", 1, 0, 0}, {"first", "fsync", "posix", 1, 0, 0},
	{"first", "fdatasync", "posix", 1, 0, 0}, {"first", "close", "posix", 1, 0, 0},
	{"first", "rename", "posix", 1, 0, 0},	  {"first", "access", "posix", 2, 0, 0},
	{"second", "truncate", "posix", 1, 0, 0}, {"second", "stat", "posix", 1, 0, 0},
	{"gone", "open", "posix", 2, 0, 0},	  {"gone", "write", "posix", 3, 30, 30},
	{"gone", "unlink", "posix", 1, 0, 0},	  {"gone", "pread", "posix", 1, 20, 20},
	{"gone", "close", "posix", 2, 0, 0},	  {"folder", "mkdir", "posix", 1, 0, 0},
	{"folder", "rmdir", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[100];
	struct stat status;
	int fd, again;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	fd = open("first", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, 100) == 100 && ftruncate(fd, 50) == 0);
	CHECK(fsync(fd) == 0 && fdatasync(fd) == 0 && close(fd) == 0);
	CHECK(access("first", R_OK) == 0 && rename("first", "second") == 0);
	CHECK(access("first", R_OK) == -1 && truncate("second", 25) == 0);
	CHECK(stat("second", &status) == 0 && status.st_size == 25);
	fd = open("gone", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, 10) == 10 && unlink("gone") == 0);
	CHECK(write(fd, bytes + 10, 10) == 10);
	/* Another file of the same name, while the first is still open. */
	again = open("gone", O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(again >= 0 && write(again, bytes, 10) == 10 && close(again) == 0);
	CHECK(pread(fd, bytes, 20, 0) == 20 && is_filled(bytes, 20, 0) && close(fd) == 0);
	CHECK(mkdir("folder", 0700) == 0 && rmdir("folder") == 0);
	end();
	say("names: 25 bytes\n");
	return 0;
}
