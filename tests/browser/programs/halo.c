/* Ranks in a ring exchange their borders and relax what is between; rank 3 has thrice the work. */
#include <math.h>
#include <stdlib.h>

#include <mpi.h>

enum { N = 4000, ROUNDS = 20, SLOW_RANK = 3 };

static double field[N + 2];

static void exchange(int rank, int size)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request requests[4];

	MPI_Irecv(&field[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&field[N + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(&field[N], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(&field[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double relax(int rounds)
{
	double change = 0;

	for (int round = 0; round < rounds; round++)
		for (int i = 1; i <= N; i++) {
			double next = 0.5 * (field[i - 1] + field[i + 1]);

			change += fabs(next - field[i]);
			field[i] = next;
		}
	return change;
}

static void collect(int rank, int size)
{
	double *all;

	if (rank) {
		MPI_Send(&field[1], N, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
		return;
	}
	all = malloc((size_t)size * N * sizeof(*all));
	for (int from = 1; from < size; from++)
		MPI_Recv(all + (size_t)from * N, N, MPI_DOUBLE, from, 7, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	free(all);
}

int main(int argc, char **argv)
{
	int rank, size, steps = argc > 1 ? atoi(argv[1]) : 100;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	field[N / 2] = rank + 1;
	for (int step = 0; step < steps; step++) {
		double change, total;

		exchange(rank, size);
		change = relax(rank == SLOW_RANK ? 3 * ROUNDS : ROUNDS);
		MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	collect(rank, size);
	MPI_Finalize();
	return 0;
}
