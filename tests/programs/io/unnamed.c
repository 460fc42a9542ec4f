/* O_TMPFILE takes a mode, as O_CREAT does; what is written has the folder's name for a path. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

static const struct expected EXPECTED[] = {
	{"folder", "mkdir", "posix", 1, 0, 0},	 {"folder", "open", "posix", 1, 0, 0},
	{"folder", "write", "posix", 1, 50, 50}, {"folder", "fstat", "posix", 1, 0, 0},
	{"folder", "close", "posix", 1, 0, 0},	 {"created", "open", "posix", 1, 0, 0},
	{"created", "fstat", "posix", 1, 0, 0},	 {"created", "close", "posix", 1, 0, 0},
	{"named", "stat", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[50], own[64];
	struct stat status;
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	umask(0);
	begin();
	CHECK(mkdir("folder", 0700) == 0);
	fd = open("folder", O_RDWR | O_TMPFILE, 0640);
	CHECK(fd >= 0 && write(fd, bytes, 50) == 50);
	CHECK(fstat(fd, &status) == 0 && (status.st_mode & 07777) == 0640 && status.st_nlink == 0);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	CHECK(linkat(AT_FDCWD, own, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
	CHECK(close(fd) == 0);
	CHECK(stat("named", &status) == 0 && status.st_size == 50);
	CHECK((status.st_mode & 07777) == 0640);
	fd = open("created", O_RDWR | O_CREAT | O_EXCL, 0604);
	CHECK(fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 07777) == 0604);
	CHECK(close(fd) == 0);
	end();
	say("unnamed: mode 640, 50 bytes\n");
	return 0;
}
