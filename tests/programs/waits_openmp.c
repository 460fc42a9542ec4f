/* A team of two, one of which comes late to every barrier; and a lock that both want. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

__attribute__((noinline)) void sleep_for(double seconds)
{
	struct timespec left = {.tv_nsec = (long)(1e9 * seconds)};

	nanosleep(&left, NULL);
}

int main(void)
{
#pragma omp parallel num_threads(2)
	{
		for (int i = 0; i < 4; i++) {
			if (omp_get_thread_num() == 0)
				sleep_for(0.1);
#pragma omp barrier
		}
#pragma omp critical
		sleep_for(0.2);
	}
	return 0;
}
