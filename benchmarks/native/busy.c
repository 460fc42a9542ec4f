/* 2,000 children that end at once, then 2,000,000 system calls. */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 2000; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, 0, 0) < 0)
			return 1;
	}
	for (int i = 0; i < 2000000; i++)
		syscall(SYS_getppid);
	return 0;
}
