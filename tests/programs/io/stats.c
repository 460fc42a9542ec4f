/* Both generations of stat: the functions of glibc 2.33 and later, and what older binaries call. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define SINCE "GLIBC_2.2.5"
enum { LAYOUT = 1 };
#else
#define SINCE "GLIBC_2.17"
enum { LAYOUT = 0 };
#endif

/* No longer declared, nor found by a linker that is not told the version of the symbol. */
int old_stat(int layout, const char *path, struct stat *status);
int old_fstat(int layout, int fd, struct stat *status);
int old_lstat(int layout, const char *path, struct stat *status);
int old_fstatat(int layout, int fd, const char *path, struct stat *status, int flags);
int old_stat64(int layout, const char *path, struct stat64 *status);
int old_fstat64(int layout, int fd, struct stat64 *status);
__asm__(".symver old_stat, __xstat@" SINCE);
__asm__(".symver old_fstat, __fxstat@" SINCE);
__asm__(".symver old_lstat, __lxstat@" SINCE);
__asm__(".symver old_stat64, __xstat64@" SINCE);
__asm__(".symver old_fstat64, __fxstat64@" SINCE);
#if defined(__x86_64__)
__asm__(".symver old_fstatat, __fxstatat@GLIBC_2.4");
#else
__asm__(".symver old_fstatat, __fxstatat@" SINCE);
#endif

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},   {"data", "write", "posix", 1, 100, 100},
	{"data", "close", "posix", 1, 0, 0},  {"data", "stat", "posix", 4, 0, 0},
	{"data", "fstat", "posix", 4, 0, 0},  {"data", "fstatat", "posix", 2, 0, 0},
	{"data", "statx", "posix", 1, 0, 0},  {"link", "symlink", "posix", 1, 0, 0},
	{"link", "lstat", "posix", 3, 0, 0},  {"folder", "mkdir", "posix", 1, 0, 0},
	{"folder", "open", "posix", 1, 0, 0}, {"folder", "close", "posix", 1, 0, 0},
	{"absent", "stat", "posix", 1, 0, 0},
};

int main(int argc, char **argv)
{
	char bytes[100];
	struct stat status;
	struct stat64 large;
	struct statx extended;
	int fd, folder;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	begin();
	fd = open("data", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, bytes, sizeof(bytes)) == 100);
	CHECK(symlink("data", "link") == 0 && mkdir("folder", 0700) == 0);
	folder = open("folder", O_RDONLY | O_DIRECTORY);
	CHECK(folder >= 0);
	CHECK(stat("data", &status) == 0 && status.st_size == 100);
	CHECK(stat64("data", &large) == 0 && large.st_size == 100);
	CHECK(old_stat(LAYOUT, "data", &status) == 0 && status.st_size == 100);
	CHECK(old_stat64(LAYOUT, "data", &large) == 0 && large.st_size == 100);
	CHECK(fstat(fd, &status) == 0 && status.st_size == 100);
	CHECK(fstat64(fd, &large) == 0 && large.st_size == 100);
	CHECK(old_fstat(LAYOUT, fd, &status) == 0 && status.st_size == 100);
	CHECK(old_fstat64(LAYOUT, fd, &large) == 0 && large.st_size == 100);
	CHECK(lstat("link", &status) == 0 && S_ISLNK(status.st_mode));
	CHECK(lstat64("link", &large) == 0 && S_ISLNK(large.st_mode));
	CHECK(old_lstat(LAYOUT, "link", &status) == 0 && S_ISLNK(status.st_mode));
	CHECK(fstatat(folder, "../data", &status, 0) == 0 && status.st_size == 100);
	CHECK(old_fstatat(LAYOUT, folder, "../data", &status, 0) == 0 && status.st_size == 100);
	CHECK(statx(folder, "../data", 0, STATX_SIZE, &extended) == 0);
	CHECK(extended.stx_size == 100);
	CHECK(stat("absent", &status) == -1 && errno == ENOENT);
	CHECK(close(fd) == 0 && close(folder) == 0);
	end();
	say("stats: 100 bytes, seen 15 times\n");
	return 0;
}
