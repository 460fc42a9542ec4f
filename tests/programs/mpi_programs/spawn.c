/* Starts two more processes by MPI_Comm_spawn, and gets a message of each. */
#include <mpi.h>
#include <stdio.h>

#define CHILDREN 2

int main(int argc, char **argv)
{
	MPI_Comm parent, children;
	int rank, number;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		number = 10 + rank;
		MPI_Send(&number, 1, MPI_INT, 0, 7, parent);
		MPI_Bcast(&number, 1, MPI_INT, 0, parent);
		MPI_Comm_disconnect(&parent);
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
		       &children, MPI_ERRCODES_IGNORE);
	for (int i = 0; !rank && i < CHILDREN; i++) {
		MPI_Recv(&number, 1, MPI_INT, i, 7, children, MPI_STATUS_IGNORE);
		printf("child %d: %d\n", i, number);
	}
	MPI_Bcast(&number, 1, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, children);
	MPI_Comm_disconnect(&children);
	MPI_Finalize();
	return 0;
}
