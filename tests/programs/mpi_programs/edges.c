/* What is rare in a program with MPI: edges KIND. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 50

static int rank, n_ranks;

static void finalize(void)
{
	MPI_Finalize();
}

/* Neighbours in a line: those at its ends have one less. */
static void exchange(void)
{
	const int left = rank ? rank - 1 : MPI_PROC_NULL;
	const int right = rank < n_ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	MPI_Request requests[4];
	int in[2], out = rank;

	for (int i = 0; i < CALLS; i++) {
		MPI_Irecv(&in[0], 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&in[1], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Isend(&out, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[2]);
		MPI_Isend(&out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[3]);
		MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	}
}

/* A receive that begins while calls are recorded, and ends while they are not. */
static void pause_within(void)
{
	MPI_Request receive, send;
	int in, out = rank;

	MPI_Irecv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &receive);
	MPI_Pcontrol(0);
	MPI_Send(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
	MPI_Wait(&receive, MPI_STATUS_IGNORE);
	MPI_Irecv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &receive);
	MPI_Isend(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &send);
	MPI_Pcontrol(1);
	MPI_Wait(&send, MPI_STATUS_IGNORE);
	MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

static void reduce_again_and_again(void)
{
#if MPI_VERSION >= 4
	MPI_Request request;
	int in[3] = {0}, out[3] = {0};

	MPI_Bcast_init(in, 3, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (int i = 0; i < CALLS; i++) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	(void)out;
#endif
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (!strcmp(kind, "late"))
		atexit(finalize);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	if (!strcmp(kind, "nobody"))
		exchange();
	if (!strcmp(kind, "pause"))
		pause_within();
	if (!strcmp(kind, "persistent"))
		reduce_again_and_again();
	MPI_Barrier(MPI_COMM_WORLD);
	/* Some of the ranks alone. */
	if (!strcmp(kind, "off") && rank)
		MPI_Pcontrol(0);
	printf("rank %d\n", rank);
	if (strcmp(kind, "late"))
		MPI_Finalize();
	return 0;
}
