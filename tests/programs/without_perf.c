/*
 * without_perf ERRNO PROGRAM [ARGUMENTS]: executes a program in which perf_event_open(2) fails with
 * a number, as seccomp filters of containers and kernels with kernel.perf_event_paranoid 3 have it;
 * with 0 it ends the process that calls it.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const unsigned int number = argc > 2 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int answer =
		number ? SECCOMP_RET_ERRNO | (number & SECCOMP_RET_DATA) : SECCOMP_RET_KILL_PROCESS;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("without_perf");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
