/* One thing that hurts for each word: tests of `gnomon io --advise`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 16384

static char *block;

static void check(int holds)
{
	if (!holds)
		abort();
}

static int open_file(const char *path, int flags)
{
	const int fd = open(path, flags, 0600);

	check(fd >= 0);
	return fd;
}

__attribute__((noinline)) static void write_tiny(const char *path, int flags, int n)
{
	const int fd = open_file(path, O_WRONLY | O_CREAT | flags);

	for (int i = 0; i < n; i++)
		check(write(fd, block, 16) == 16);
	close(fd);
}

__attribute__((noinline)) static void write_and_sync(const char *path)
{
	const int fd = open_file(path, O_WRONLY | O_CREAT);

	for (int i = 0; i < 20; i++)
		check(write(fd, block, 4096) == 4096 && !fdatasync(fd));
	close(fd);
}

__attribute__((noinline)) static void read_tiny(const char *path)
{
	const int fd = open_file(path, O_RDONLY);

	for (int i = 0; i < 20000; i++)
		check(read(fd, block, 64) == 64);
	close(fd);
}

__attribute__((noinline)) static void read_backward(const char *path)
{
	const int fd = open_file(path, O_RDONLY);

	for (int i = 511; i >= 0; i--)
		check(pread(fd, block, BLOCK, (off_t)i * BLOCK) == BLOCK);
	close(fd);
}

__attribute__((noinline)) static void read_strided(const char *path)
{
	const int fd = open_file(path, O_RDONLY);

	for (int i = 0; i < 256; i++)
		check(pread(fd, block, 4096, (off_t)i * 32768) == 4096);
	close(fd);
}

__attribute__((noinline)) static void read_again(const char *path)
{
	const int fd = open_file(path, O_RDONLY);

	for (int i = 0; i < 4096; i++)
		check(pread(fd, block, 4096, (off_t)(i % 16) * 4096) == 4096);
	close(fd);
}

__attribute__((noinline)) static void open_again(const char *path)
{
	for (int i = 0; i < 2000; i++)
		close(open_file(path, O_RDONLY));
}

__attribute__((noinline)) static void write_many(void)
{
	char path[64];

	check(!mkdir("many", 0700) || errno == EEXIST);
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "many/%d", i);
		write_tiny(path, O_TRUNC, 1);
	}
}

__attribute__((noinline)) static void read_direct(const char *path)
{
	const int fd = open_file(path, O_RDONLY | O_DIRECT);

	for (int i = 0; i < 500; i++)
		(void)!pread(fd, block + 1, 1000, i * 1000 + 1);
	close(fd);
}

static void map(const char *path)
{
	const int fd = open_file(path, O_RDWR);

	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
	close(fd);
}

static void in_child(void (*work)(const char *), const char *path)
{
	const pid_t child = fork();

	if (!child) {
		work(path);
		exit(0);
	}
	waitpid(child, NULL, 0);
}

static void write_log(const char *path)
{
	write_tiny(path, 0, 20000);
}

static void write_with_reader(const char *path)
{
	const int fd = open_file(path, O_WRONLY | O_CREAT);

	for (int i = 0; i < 80000; i++)
		check(write(fd, block, 16) == 16);
	in_child(read_tiny, path);
	close(fd);
}

/* Of 300 writes replays with pauses take seconds. */
static void write_slowly(const char *path)
{
	const int fd = open_file(path, O_WRONLY | O_CREAT);

	for (int i = 0; i < 300; i++) {
		check(write(fd, block, 16) == 16);
		usleep(10000);
	}
	close(fd);
}

int main(int n, char **words)
{
	block = aligned_alloc(4096, 2 * BLOCK);
	memset(block, 'x', 2 * BLOCK);
	for (int i = 1; i < n; i++) {
		const char *word = words[i];

		if (!strcmp(word, "tiny-writes"))
			write_tiny("log", O_TRUNC, 50000);
		else if (!strcmp(word, "appends"))
			write_tiny("appended", O_APPEND, 20000);
		else if (!strcmp(word, "synchronous"))
			write_tiny("synchronous", O_DSYNC, 100);
		else if (!strcmp(word, "two-writers"))
			in_child(write_log, "shared"), write_log("shared");
		else if (!strcmp(word, "writer-and-reader"))
			write_log("followed"), in_child(read_tiny, "followed");
		else if (!strcmp(word, "writer-with-reader"))
			write_with_reader("followed");
		else if (!strcmp(word, "slow-writes"))
			write_slowly("log");
		else if (!strcmp(word, "mapped"))
			write_log("mapped"), map("mapped");
		else if (!strcmp(word, "inherited"))
			for (int k = 0; k < 20000; k++)
				check(write(STDOUT_FILENO, block, 16) == 16);
		else if (!strcmp(word, "tiny-reads"))
			read_tiny("data");
		else if (!strcmp(word, "backward"))
			read_backward("data");
		else if (!strcmp(word, "strided"))
			read_strided("data");
		else if (!strcmp(word, "again"))
			read_again("data");
		else if (!strcmp(word, "syncs"))
			write_and_sync("log");
		else if (!strcmp(word, "opens"))
			open_again("data");
		else if (!strcmp(word, "many"))
			write_many();
		else if (!strcmp(word, "direct"))
			read_direct("data");
		else
			return 2;
	}
	return 0;
}
