/* Eight ranks of which some have four times the work of others: all wait for the slowest. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double relax(long steps)
{
	double sum = 0;

	for (long step = 1; step < steps; step++)
		sum += sqrt((double)step) / (step + 1.0);
	return sum;
}

static double solve(int rank, int rounds)
{
	double sum = 0, all = 0;

	for (int round = 0; round < rounds; round++) {
		sum += relax(400000L * (1 + rank % 4));
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	return all;
}

int main(int argc, char **argv)
{
	int rank;
	double sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sum = solve(rank, argc > 1 ? atoi(argv[1]) : 12);
	if (rank == 0)
		printf("%g\n", sum);
	MPI_Finalize();
	return 0;
}
