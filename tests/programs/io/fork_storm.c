/* A hundred children at once, each with a file of its own and one that all share. */
#include "corpus.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CHILDREN = 100, WRITES = 5 };

static const struct expected EXPECTED[] = {
	{"all", "open", "posix", 1, 0, 0},
	{"all", "write", "posix", CHILDREN, 10 * CHILDREN, 10 * CHILDREN},
	{"all", "close", "posix", 1 + CHILDREN, 0, 0},
	{"all", "fstat", "posix", 1, 0, 0},
};

static const char *own_path(char *path, size_t size, int child)
{
	snprintf(path, size, "child-%02d", child);
	return path;
}

static int work(int shared, int child)
{
	char bytes[10], path[32];
	int fd;

	fill(bytes, sizeof(bytes), 0);
	fd = open(own_path(path, sizeof(path), child), O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(shared, bytes, 10) == 10 && close(shared) == 0);
	for (int i = 0; i < WRITES; i++)
		CHECK(write(fd, bytes, 10) == 10);
	return close(fd);
}

static void tell_all(void)
{
	char path[32];

	for (int child = 0; child < CHILDREN; child++) {
		own_path(path, sizeof(path), child);
		tell(&(struct expected){path, "open", "posix", 1, 0, 0});
		tell(&(struct expected){path, "write", "posix", WRITES, 10 * WRITES, 10 * WRITES});
		tell(&(struct expected){path, "close", "posix", 1, 0, 0});
	}
}

int main(int argc, char **argv)
{
	struct stat status;
	int fd, ended;

	if (is_asked(argc, argv))
		tell_all();
	TELL(argc, argv, EXPECTED);
	begin();
	fd = open("all", O_WRONLY | O_CREAT | O_APPEND, 0600);
	CHECK(fd >= 0);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t child = fork();

		CHECK(child >= 0);
		/* Half of them run what the library does when a process ends, half do not. */
		if (child == 0 && i % 2)
			exit(work(fd, i));
		if (child == 0)
			_exit(work(fd, i));
	}
	for (int i = 0; i < CHILDREN; i++)
		CHECK(wait(&ended) > 0 && ended == 0);
	CHECK(fstat(fd, &status) == 0 && status.st_size == 10 * CHILDREN && close(fd) == 0);
	end();
	say("fork_storm: %d children\n", CHILDREN);
	return 0;
}
