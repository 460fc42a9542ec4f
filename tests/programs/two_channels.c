/*
 * A thread reads ROUNDS bytes from a pipe and as many from a socket, in turn and with one call;
 * another process writes each of them half a millisecond after the one before.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int receive(int from)
{
	char byte;

	return read(from, &byte, 1) == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	int pipe_ends[2], socket_ends[2], failed = 0, status = 1;

	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends))
		return 1;
	if (!fork()) {
		for (int i = 0; !failed && i < 2 * rounds; i++) {
			usleep(500);
			failed = write(i % 2 ? socket_ends[1] : pipe_ends[1], "", 1) != 1;
		}
		_exit(failed);
	}
	for (int i = 0; !failed && i < 2 * rounds; i++)
		failed = receive(i % 2 ? socket_ends[0] : pipe_ends[0]);
	wait(&status);
	return failed || status;
}
