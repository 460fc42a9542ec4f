/*
 * daemonise FIFO RESULT: leaves a daemon behind (fork, setsid, fork) and ends at once. The daemon
 * writes "PID SESSION" into RESULT once somebody has opened FIFO for writing, and ends at its end
 * of file; until then it lives.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int serve(const char *fifo, const char *result)
{
	char line[64], byte;
	int in, out;

	in = open(fifo, O_RDONLY);
	out = open(result, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (in < 0 || out < 0)
		return 1;
	snprintf(line, sizeof(line), "%d %d\n", (int)getpid(), (int)getsid(0));
	if (write(out, line, strlen(line)) < 0)
		return 1;
	while (read(in, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc != 3)
		return 2;
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	child = fork();
	if (child == 0) {
		setsid();
		child = fork();
		if (child == 0) {
			for (int i = 0; i < 5; i++)
				syscall(SYS_getppid);
			/* Nothing may wait for the daemon because it holds somebody's pipe. */
			close(0);
			close(1);
			close(2);
			_exit(serve(argv[1], argv[2]));
		}
		_exit(child < 0);
	}
	if (child < 0)
		return 3;
	return waitpid(child, NULL, 0) == child ? 0 : 4;
}
