/*
 * Three ranks start two others. Rank 0 of the first sends an integer to rank 1 of the others; ranks
 * 0 and 1 of both exchange one with each other. Prints "ok".
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	MPI_Comm parent, others;
	int rank, sent = 5, came;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	others = parent;
	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
			       MPI_ERRCODES_IGNORE);
	if (parent == MPI_COMM_NULL && rank == 0)
		MPI_Send(&sent, 1, MPI_INT, 1, 0, others);
	if (parent != MPI_COMM_NULL && rank == 1)
		MPI_Recv(&came, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
	if (rank < 2)
		MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, 1, &came, 1, MPI_INT, 1 - rank, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_disconnect(&others);
	if (parent == MPI_COMM_NULL && rank == 0)
		puts("ok");
	MPI_Finalize();
	return 0;
}
