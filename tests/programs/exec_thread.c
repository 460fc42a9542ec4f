/* exec_thread: a thread other than the first sleeps for 200 ms and executes sleep(1) for 1 s. */
#include <pthread.h>
#include <unistd.h>

static void *other(void *unused)
{
	(void)unused;
	usleep(200000);
	execlp("sleep", "sleep", "1", (char *)NULL);
	_exit(1);
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other, NULL))
		return 1;
	for (;;)
		pause();
}
