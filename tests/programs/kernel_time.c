/*
 * kernel_time THREADS ROUNDS: threads that spend most of their time in the kernel, which clears a
 * buffer for them, and less in user code, beside the main thread, which waits.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define THREADS_MAX 64

static long rounds;

static void *work(void *buffer)
{
	volatile unsigned long sum = 0;
	const int zero = open("/dev/zero", O_RDONLY);

	for (long i = 0; i < rounds; i++) {
		for (int n = 0; n < 10; n++)
			if (read(zero, buffer, BYTES) != BYTES)
				exit(1);
		for (unsigned long n = 0; n < 100000; n++)
			sum += n ^ sum;
	}
	close(zero);
	return NULL;
}

int main(int argc, char **argv)
{
	static char buffer[THREADS_MAX][BYTES];
	pthread_t thread[THREADS_MAX];
	const int n = argc > 2 ? atoi(argv[1]) : 1;

	rounds = argc > 2 ? atol(argv[2]) : 1;
	for (int i = 0; i < n && i < THREADS_MAX; i++)
		if (pthread_create(&thread[i], NULL, work, buffer[i]))
			return 1;
	for (int i = 0; i < n && i < THREADS_MAX; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
