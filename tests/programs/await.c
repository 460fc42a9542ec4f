/*
 * await [SIGNAL]: prints "ready" and waits for a signal. With a number, that signal is caught and
 * ends the program with status 40; any other does what it does by default.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void leave(int number)
{
	(void)number;
	_exit(40);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		signal(atoi(argv[1]), leave);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
