/* Paths that are relative to a directory's descriptor, or to a working directory that changes. */
#define _GNU_SOURCE
#include "corpus.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct expected EXPECTED[] = {
	{"a", "mkdir", "posix", 1, 0, 0},
	{"a", "open", "posix", 1, 0, 0},
	{"a", "close", "posix", 1, 0, 0},
	{"a/b", "mkdirat", "posix", 1, 0, 0},
	{"a/b", "open", "libc", 1, 0, 0},
	{"a/b", "fstat", "libc", 1, 0, 0},
	{"a/b", "close", "libc", 1, 0, 0},
	{"a/data", "openat", "posix", 1, 0, 0},
	{"a/data", "write", "posix", 1, 10, 10},
	{"a/data", "close", "posix", 1, 0, 0},
	{"a/data", "fstatat", "posix", 1, 0, 0},
	{"a/data", "renameat", "posix", 1, 0, 0},
	{"a/b/moved", "unlinkat", "posix", 1, 0, 0},
	{"a/b/inner", "open", "posix", 2, 0, 0},
	{"a/b/inner", "write", "posix", 1, 20, 20},
	{"a/b/inner", "read", "posix", 1, 20, 20},
	{"a/b/inner", "close", "posix", 2, 0, 0},
	{"outer", "open", "posix", 1, 0, 0},
	{"outer", "write", "posix", 1, 30, 30},
	{"outer", "close", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[30];
	struct stat status;
	struct dirent *entry;
	int folder, fd, entries = 0;
	DIR *listing;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	CHECK(mkdir("a", 0700) == 0);
	folder = open("a", O_RDONLY | O_DIRECTORY);
	CHECK(folder >= 0 && mkdirat(folder, "b", 0700) == 0);
	fd = openat(folder, "data", O_WRONLY | O_CREAT, 0640);
	CHECK(fd >= 0 && write(fd, bytes, 10) == 10 && close(fd) == 0);
	CHECK(fstatat(folder, "data", &status, 0) == 0 && status.st_size == 10);
	CHECK(renameat(folder, "data", folder, "b/moved") == 0);
	CHECK(chdir("a/b") == 0);
	fd = open("inner", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, 20) == 20 && close(fd) == 0);
	CHECK(fchdir(folder) == 0);
	fd = open("b/inner", O_RDONLY);
	CHECK(fd >= 0 && read(fd, bytes, 20) == 20 && close(fd) == 0);
	listing = opendir("b");
	CHECK(listing != NULL);
	while ((entry = readdir(listing)) != NULL)
		entries += entry->d_name[0] != '.';
	CHECK(closedir(listing) == 0 && entries == 2);
	fd = open("../a/.././outer", O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, 30) == 30 && close(fd) == 0);
	CHECK(unlinkat(folder, "b/moved", 0) == 0 && close(folder) == 0);
	end();
	say("directories: %d entries\n", entries);
	return 0;
}
