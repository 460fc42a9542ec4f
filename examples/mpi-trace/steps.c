/* A program that does the same in each step but the first. */
#include <mpi.h>

#define STEPS 5
#define MESSAGES 3

int main(int argc, char **argv)
{
	int rank, ranks, number = 0, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < MESSAGES; i++) {
			if (rank % 2 == 0 && rank + 1 < ranks)
				MPI_Send(&number, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
			else if (rank % 2)
				MPI_Recv(&number, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
		}
		MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
