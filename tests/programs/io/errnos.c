/* Calls that fail do so as ever, and those that succeed leave errno alone. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

static const struct expected EXPECTED[] = {
	{"absent", "open", "posix", 1, 0, 0},	  {"absent", "unlink", "posix", 1, 0, 0},
	{"absent", "access", "posix", 1, 0, 0},	  {"absent", "rename", "posix", 1, 0, 0},
	{"absent", "truncate", "posix", 1, 0, 0}, {"data", "open", "posix", 2, 0, 0},
	{"data", "write", "posix", 2, 20, 10},	  {"data", "read", "posix", 2, 20, 10},
	{"data", "lseek", "posix", 2, 0, 0},	  {"data", "close", "posix", 1, 0, 0},
	{"data", "fsync", "posix", 1, 0, 0},	  {"data", "rmdir", "posix", 1, 0, 0},
	{"data", "mkdir", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	/* As a compiler that warns of what is null does not know it. */
	char *volatile nowhere = NULL;
	char bytes[10];
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	CHECK(open("absent", O_RDONLY) == -1 && errno == ENOENT);
	CHECK(unlink("absent") == -1 && errno == ENOENT);
	CHECK(access("absent", R_OK) == -1 && errno == ENOENT);
	CHECK(rename("absent", "other") == -1 && errno == ENOENT);
	CHECK(truncate("absent", 0) == -1 && errno == ENOENT);
	CHECK(read(-1, bytes, 10) == -1 && errno == EBADF);
	CHECK(write(1000000, bytes, 10) == -1 && errno == EBADF);
	CHECK(lseek(-1, 0, SEEK_SET) == -1 && errno == EBADF);
	CHECK(close(-1) == -1 && errno == EBADF && close(1000000) == -1 && errno == EBADF);
	CHECK(dup2(-1, 5) == -1 && errno == EBADF && dup(-1) == -1 && errno == EBADF);
	errno = 4321;
	fd = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(errno == 4321);
	CHECK(write(fd, bytes, 10) == 10 && errno == 4321);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && errno == 4321);
	CHECK(read(fd, bytes, 10) == 10 && errno == 4321);
	CHECK(fsync(fd) == 0 && errno == 4321);
	CHECK(read(fd, nowhere, 10) == 0 && errno == 4321);
	CHECK(write(fd, nowhere, 10) == -1 && errno == EFAULT);
	CHECK(lseek(fd, -1, SEEK_SET) == -1 && errno == EINVAL);
	CHECK(mkdir("data", 0700) == -1 && errno == EEXIST);
	CHECK(rmdir("data") == -1 && errno == ENOTDIR);
	CHECK(open("data", O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	errno = 4321;
	CHECK(close(fd) == 0 && errno == 4321);
	CHECK(open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
	end();
	say("errnos: as ever\n");
	return 0;
}
