/* forks N CALLS: N children one after the other, each with CALLS getppid system calls. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 0;
	const long calls = argc > 2 ? atol(argv[2]) : 0;

	for (long i = 0; i < n; i++) {
		const pid_t child = fork();

		if (child < 0)
			return 2;
		if (child == 0) {
			for (long call = 0; call < calls; call++)
				syscall(SYS_getppid);
			_exit(0);
		}
		if (waitpid(child, NULL, 0) != child)
			return 3;
	}
	return 0;
}
