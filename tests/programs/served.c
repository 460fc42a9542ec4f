/*
 * served REQUESTS ANSWERS: works when asked to. Whoever writes a number N into the fifo REQUESTS
 * makes three tasks do N getppid system calls each: a thread that was there from the start, a new
 * thread and a new process. "done" in the fifo ANSWERS says that they have; a negative N is the
 * end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t asked, answered;
static long wanted;

static void work(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
}

static void *old_thread(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&asked);
		work(wanted);
		sem_post(&answered);
	}
	return NULL;
}

static void *new_thread(void *unused)
{
	(void)unused;
	work(wanted);
	return NULL;
}

static int serve(void)
{
	pthread_t thread;
	pid_t child;

	sem_post(&asked);
	sem_wait(&answered);
	if (pthread_create(&thread, NULL, new_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	child = fork();
	if (child == 0) {
		work(wanted);
		_exit(0);
	}
	return waitpid(child, NULL, 0) != child;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3 || sem_init(&asked, 0, 0) || sem_init(&answered, 0, 0) ||
	    pthread_create(&thread, NULL, old_thread, NULL))
		return 2;
	for (;;) {
		char text[32] = "";
		int fd = open(argv[1], O_RDONLY);

		if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
			return 3;
		close(fd);
		wanted = atol(text);
		if (wanted < 0)
			return 0;
		if (serve())
			return 4;
		fd = open(argv[2], O_WRONLY);
		if (fd < 0 || write(fd, "done\n", 5) != 5)
			return 5;
		close(fd);
	}
}
