/* A signal's handler writes to the file that the program is writing to: no line is lost or torn. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define WRITES 300000

static int fd;
static volatile sig_atomic_t n_handled;

static void on_alarm(int number)
{
	(void)number;
	if (write(fd, "handler\n", 8) == 8)
		n_handled++;
}

int main(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	fd = open("lines", O_RDWR | O_CREAT | O_TRUNC, 0600);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < WRITES; i++)
		if (write(fd, "main\n", 5) != 5)
			return 1;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d\n", WRITES, (int)n_handled);
	return close(fd);
}
