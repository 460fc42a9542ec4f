/*
 * Every rank sends to itself SENDS times, half of them from each of two functions that call the
 * same one; then they end as the argument says: "finalize"; "kill": rank 1 is killed; "abort": it
 * calls MPI_Abort; "exit": all leave by _exit() without MPI_Finalize; "large": each broadcasts 3
 * GiB to itself, which are one byte again and again, and finalizes.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENDS 10

static __attribute__((noinline)) void send_to_itself(int rank)
{
	int sent = rank, came = -1;

	MPI_Sendrecv(&sent, 1, MPI_INT, rank, 0, &came, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	if (came != sent)
		abort();
}

static __attribute__((noinline)) int odd(int rank)
{
	send_to_itself(rank);
	return 1;
}

static __attribute__((noinline)) int even(int rank)
{
	send_to_itself(rank);
	return 2;
}

static void send_much(void)
{
	static char part;
	MPI_Datatype gigabyte;

	MPI_Type_create_hvector(1 << 30, 1, 0, MPI_CHAR, &gigabyte);
	MPI_Type_commit(&gigabyte);
	MPI_Bcast(&part, 3, gigabyte, 0, MPI_COMM_SELF);
	MPI_Type_free(&gigabyte);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "finalize";
	int rank, calls = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < SENDS; i++)
		calls += i % 2 ? odd(rank) : even(rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(how, "large"))
		send_much();
	if (!strcmp(how, "kill") && rank == 1)
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "abort") && rank == 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (!strcmp(how, "exit"))
		_exit(0);
	if (!strcmp(how, "kill") || !strcmp(how, "abort"))
		pause();
	MPI_Finalize();
	return calls != SENDS / 2 * 3;
}
