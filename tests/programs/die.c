/* die SIGNAL: ends by that signal; SIGSEGV comes about as it does in life. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int number = argc > 1 ? atoi(argv[1]) : 0;
	static int *volatile nowhere;

	if (number == SIGSEGV)
		*nowhere = 1;
	kill(getpid(), number);
	return 1;
}
