/*
 * A ring of messages, then an end: ends WAY, on rank 1 where there is one, else on rank 0.
 *
 *	finalize	as it should be; all others are without MPI_Finalize on that rank
 *	return, exit, _exit	with status 3
 *	abort		MPI_Abort with 5
 *	crash, kill	by SIGSEGV, by SIGKILL
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES 25

static int ring(int rank, int n_ranks)
{
	const int to = (rank + 1) % n_ranks, from = (rank + n_ranks - 1) % n_ranks;
	int sum = 0;

	for (int i = 0; i < MESSAGES; i++) {
		int out[3] = {i, i, i}, in[3] = {0, 0, 0};
		MPI_Request request;

		MPI_Irecv(in, 3, MPI_INT, from, 0, MPI_COMM_WORLD, &request);
		MPI_Send(out, 3, MPI_INT, to, 0, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		sum += in[2];
	}
	return sum;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "finalize";
	int rank, n_ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	printf("rank %d: %d\n", rank, ring(rank, n_ranks));
	fflush(stdout);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Pcontrol(2, 40);
	if (rank != (n_ranks > 1)) {
		/* The launcher ends it where rank 1 does not come. */
		MPI_Finalize();
		return 0;
	}
	if (!strcmp(way, "return"))
		return 3;
	if (!strcmp(way, "exit"))
		exit(3);
	if (!strcmp(way, "_exit"))
		_exit(3);
	if (!strcmp(way, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 5);
	if (!strcmp(way, "crash"))
		raise(SIGSEGV);
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	MPI_Finalize();
	return 0;
}
