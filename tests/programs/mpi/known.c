/*
 * Work that is known for each task: 1000 calls of getsid(2) times its rank plus one, then an
 * exchange with everybody. With -DWITH_HPM in a section of its own.
 *
 * KNOWN_TASK names the task that behaves as these say: KNOWN_SIGNAL kills itself after the work;
 * KNOWN_STATUS exits with it; KNOWN_SLEEP sleeps so many seconds first; KNOWN_LOST never gets to
 * hpmTerminate: "exit" ends by _exit after MPI_Finalize, "late" sleeps for 6 s before that.
 * KNOWN_FINALIZED: hpmTerminate comes after MPI_Finalize. KNOWN_ROUNDS: entries of the section.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_HPM
#include "libhpm.h"
#else
#define hpmInit(task, name) ((void)0)
#define hpmStart(id, label) ((void)0)
#define hpmStop(id) ((void)0)
#define hpmTerminate(task) ((void)0)
#endif

static const char *of(int task, const char *name)
{
	const char *who = getenv("KNOWN_TASK"), *value = getenv(name);

	return who && value && atoi(who) == task ? value : NULL;
}

static long number(const char *text, long otherwise)
{
	return text ? strtol(text, NULL, 10) : otherwise;
}

/* Waits for everybody without keeping a CPU busy, as what waits in MPI itself does. */
static void all_here(void)
{
	MPI_Request request;
	int is_done = 0;

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	while (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_done)
		usleep(1000);
}

int main(int argc, char **argv)
{
	int task, tasks, sum, status;
	long rounds = number(getenv("KNOWN_ROUNDS"), 1);
	const char *lost;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	lost = of(task, "KNOWN_LOST");
	hpmInit(task, "known");
	for (long round = 0; round < rounds; round++) {
		hpmStart(1, "work");
		for (int call = 0; call < 1000 * (task + 1); call++)
			if (getsid(0) < 0)
				return 1;
		sleep((unsigned)number(of(task, "KNOWN_SLEEP"), 0));
		hpmStop(1);
	}
	hpmStart(2, "exchange");
	all_here();
	MPI_Allreduce(&task, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	hpmStop(2);
	if (sum != tasks * (tasks - 1) / 2)
		return 1;
	if (of(task, "KNOWN_SIGNAL"))
		raise((int)number(of(task, "KNOWN_SIGNAL"), SIGKILL));
	if (lost && !strcmp(lost, "late"))
		sleep(6);
	if (!lost && !getenv("KNOWN_FINALIZED"))
		hpmTerminate(task);
	MPI_Finalize();
	if (lost)
		_exit(0);
	if (getenv("KNOWN_FINALIZED"))
		hpmTerminate(task);
	printf("task %d of %d is done\n", task, tasks);
	status = (int)number(of(task, "KNOWN_STATUS"), 0);
	return status;
}
