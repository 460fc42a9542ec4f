/* endings WAY: six writes, then one of the ways to end. */
#define _GNU_SOURCE
#include "corpus.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

enum { WRITES = 6 };

static const struct expected EXPECTED[] = {
	{"data", "open", "posix", 1, 0, 0},
	{"data", "write", "posix", WRITES, 10 * WRITES, 10 * WRITES},
};

static void *end_of_thread(void *unused)
{
	(void)unused;
	exit(5);
}

int main(int argc, char **argv)
{
	static const struct rlimit no_core;
	const char *way = argc > 1 ? argv[1] : "return";
	char bytes[10];
	int fd;

	TELL(argc, argv, EXPECTED);
	fill(bytes, sizeof(bytes), 0);
	setrlimit(RLIMIT_CORE, &no_core);
	begin();
	fd = open("data", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < WRITES; i++)
		CHECK(write(fd, bytes, 10) == 10);
	end();
	say("endings: %s\n", way);
	if (strcmp(way, "return") == 0)
		return 3;
	if (strcmp(way, "exit") == 0)
		exit(4);
	if (strcmp(way, "thread") == 0) {
		pthread_t thread;

		CHECK(pthread_create(&thread, NULL, end_of_thread, NULL) == 0);
		pause();
	}
	if (strcmp(way, "_exit") == 0)
		_exit(6);
	if (strcmp(way, "_Exit") == 0)
		_Exit(7);
	if (strcmp(way, "quick_exit") == 0)
		quick_exit(8);
	if (strcmp(way, "abort") == 0)
		abort();
	if (strcmp(way, "SIGTERM") == 0)
		kill(getpid(), SIGTERM);
	if (strcmp(way, "SIGKILL") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(way, "SIGSEGV") == 0)
		raise(SIGSEGV);
	pause();
	return 9;
}
