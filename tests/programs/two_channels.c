/*
 * A thread reads ROUNDS bytes from a pipe and as many from a socket, in turn and with one call;
 * another process writes each of them half a millisecond after the one before, and when the thread
 * is asleep: beside other programs it may come late.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int receive(int from)
{
	char byte;

	return read(from, &byte, 1) == 1 ? 0 : 1;
}

static int is_asleep(pid_t pid)
{
	char name[32], text[512];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return n <= 0 || !end || end[2] == 'S';
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	int pipe_ends[2], socket_ends[2], failed = 0, status = 1;

	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends))
		return 1;
	if (!fork()) {
		for (int i = 0; !failed && i < 2 * rounds; i++) {
			do
				usleep(500);
			while (!is_asleep(getppid()));
			failed = write(i % 2 ? socket_ends[1] : pipe_ends[1], "", 1) != 1;
		}
		_exit(failed);
	}
	for (int i = 0; !failed && i < 2 * rounds; i++)
		failed = receive(i % 2 ? socket_ends[0] : pipe_ends[0]);
	wait(&status);
	return failed || status;
}
