/*
 * Children of a program of which another thread loads libraries all the time, or goes through them:
 * what the loader had at the fork no child waits for. The argument is a library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "corpus.h"

#define CHILDREN 150

static atomic_int is_over;

static int look(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	*(unsigned int *)n += info->dlpi_phnum;
	return 0;
}

static void *go_through(void *unused)
{
	unsigned int n = 0;

	(void)unused;
	while (!is_over)
		dl_iterate_phdr(look, &n);
	return NULL;
}

static void *load(void *library)
{
	while (!is_over) {
		void *loaded = dlopen(library, RTLD_NOW);

		CHECK(loaded && !dlclose(loaded));
	}
	return NULL;
}

static void use(int i)
{
	char name[16] = {'c', (char)('0' + i / 100), (char)('0' + i / 10 % 10),
			 (char)('0' + i % 10)};
	const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	_exit(fd < 0 || write(fd, name, 4) != 4 || lseek(fd, 0, SEEK_SET) || close(fd) ||
	      unlink(name));
}

int main(int argc, char **argv)
{
	pthread_t loader, other;
	int failed = 0;

	CHECK(argc == 2);
	CHECK(!pthread_create(&loader, NULL, load, argv[1]));
	CHECK(!pthread_create(&other, NULL, go_through, NULL));
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t child = fork();
		int status = -1;

		if (!child)
			use(i);
		failed += child < 0 || waitpid(child, &status, 0) != child || status;
	}
	is_over = 1;
	pthread_join(loader, NULL);
	pthread_join(other, NULL);
	say("%d of %d failed\n", failed, CHILDREN);
	return failed != 0;
}
