/* calls N [program [argument ...]]: N getppid system calls, then becomes the program. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	if (argc > 2) {
		execv(argv[2], argv + 2);
		return 127;
	}
	return 0;
}
