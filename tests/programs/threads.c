/*
 * threads N CALLS STEP: N threads at once, named "worker I"; thread I makes CALLS + I * STEP
 * getppid system calls. All live until the last has done its calls.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

static long calls, step;

static void *work(void *number)
{
	const long me = (long)number;
	char name[16];

	snprintf(name, sizeof(name), "worker %ld", me);
	pthread_setname_np(pthread_self(), name);
	for (long i = 0; i < calls + me * step; i++)
		syscall(SYS_getppid);
	return NULL;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 0;
	static pthread_t thread[THREADS_MAX];

	calls = argc > 2 ? atol(argv[2]) : 0;
	step = argc > 3 ? atol(argv[3]) : 0;
	if (n < 0 || n > THREADS_MAX)
		return 2;
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 3;
	}
	for (long i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
