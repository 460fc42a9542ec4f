/* Threads of which each has more to do than the one before. */
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 5 };

static double done[THREADS];

static void *work(void *which)
{
	const long rounds = 600000L * (1 + (long)which);
	double sum = 0;

	for (long i = 1; i <= rounds; i++)
		sum += 1.0 / (double)i;
	done[(long)which] = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return done[0] < 0;
}
