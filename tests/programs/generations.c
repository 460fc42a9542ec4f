/* Work in a process, and in what it becomes: generations HOW PARENT CHILD [STATUS]
 *
 * The parent runs PARENT rounds, then a child runs CHILD rounds and exits with STATUS, then the
 * parent prints both. HOW: fork; vfork, whose child executes this program again; spawn, likewise
 * with posix_spawn; exec, where the process itself executes this program again; clone, a fork past
 * the C library; kill, a fork whose child the parent kills when it has worked; fail, where an exec
 * that fails comes before the fork. A round is five instructions or a few more.
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__attribute__((noinline)) static void work(long rounds)
{
	for (volatile long at = 0; at < rounds; at++)
		;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *how = argv[1];
	char *again[] = {argv[0], "child", "0", argv[3], argc > 4 ? argv[4] : "0", NULL};
	work(atol(argv[2]));
	pid_t child = 0;
	int worked[2];
	char byte = 0;
	if (pipe(worked))
		return 4;
	if (strcmp(how, "child") == 0) {
		work(atol(argv[3]));
		return argc > 4 ? atoi(argv[4]) : 0;
	}
	if (strcmp(how, "exec") == 0)
		return execv(argv[0], again);
	if (strcmp(how, "fail") == 0)
		execl("/nowhere", "nowhere", (char *)NULL);
	if (strcmp(how, "spawn") == 0)
		posix_spawn(&child, argv[0], NULL, NULL, again, environ);
	else if (strcmp(how, "vfork") == 0)
		child = vfork();
	else if (strcmp(how, "clone") == 0)
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else
		child = fork();
	if (child == 0) {
		if (strcmp(how, "vfork") == 0)
			_exit(execv(argv[0], again));
		work(atol(argv[3]));
		if (write(worked[1], &byte, 1) == 1 && strcmp(how, "kill") == 0)
			pause();
		_exit(argc > 4 ? atoi(argv[4]) : 0);
	}
	if (strcmp(how, "kill") == 0 && read(worked[0], &byte, 1) == 1)
		kill(child, SIGKILL);
	int status = 0;
	if (waitpid(child, &status, 0) != child)
		return 3;
	printf("%s %d\n", how, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}
