/*
 * Collective operations of two ranks, of communicators of all kinds. Rank 0 makes FILE after a
 * broadcast from itself, for which MPI need not wait; rank 1, which comes late, says whether it was
 * there before it came.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, data[2] = {1, 2}, sum[2], is_early = 0, n[1] = {2}, round[1] = {1};
	MPI_Comm own, across, ring;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank) {
		usleep(300000);
		is_early = !access(argv[1], F_OK);
	}
	MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (!rank)
		fclose(fopen(argv[1], "w"));
	for (int i = 0; i < 3; i++)
		MPI_Allreduce(data, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	/* No barrier comes before these. */
	MPI_Scan(data, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	MPI_Iallreduce(data, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Cart_create(MPI_COMM_WORLD, 1, n, round, 0, &ring);
	MPI_Neighbor_allgather(data, 1, MPI_INT, sum, 1, MPI_INT, ring);
	MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
	MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, !rank, 0, &across);
	MPI_Gather(data, 1, MPI_INT, sum, 1, MPI_INT, rank ? 0 : MPI_ROOT, across);
	if (rank)
		printf("early %d\n", is_early);
	MPI_Finalize();
	return 0;
}
