/*
 * Sleeps in all the ways in which a process can live and end: `sleeper WAY`.
 *
 *	exit	three naps, then the end of main()
 *	_exit	a nap, then _exit(2)
 *	exec	a nap, then this program again, by the way "exit"
 *	kill	a nap, then SIGKILL
 *	fork	a nap; a child naps 20 ms and exits, another one naps none and exits
 *	threads	four threads nap ten times each
 *	race	a child whose four threads nap first and at once
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nap(void *argument)
{
	for (int i = 0; i < *(int *)argument; i++)
		usleep(1000);
	return NULL;
}

static void nap_in_threads(int times)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, nap, &times);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void fork_twice(void)
{
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();

		if (!child) {
			if (!i)
				usleep(20000);
			printf("child %d\n", i);
			return;
		}
		waitpid(child, NULL, 0);
	}
	printf("parent\n");
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "exit";

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(way, "threads")) {
		nap_in_threads(10);
	} else if (!strcmp(way, "race")) {
		if (!fork())
			nap_in_threads(1);
		else
			wait(NULL);
	} else {
		usleep(1000);
		if (!strcmp(way, "_exit"))
			_exit(3);
		if (!strcmp(way, "kill"))
			raise(SIGKILL);
		if (!strcmp(way, "exec"))
			execl("/proc/self/exe", argv[0], "exit", (char *)NULL);
		if (!strcmp(way, "fork"))
			fork_twice();
		for (int i = 0; i < 2 && !strcmp(way, "exit"); i++)
			usleep(1000);
	}
	return 0;
}
