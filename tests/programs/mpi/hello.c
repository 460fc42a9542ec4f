/* Each task says who it is, and the sum of all ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int task, tasks, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &task);
	MPI_Comm_size(MPI_COMM_WORLD, &tasks);
	MPI_Allreduce(&task, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("task %d of %d, sum %d\n", task, tasks, sum);
	MPI_Finalize();
	return 0;
}
