/*
 * Known messages: in each of 10 steps a rank sends 1,000 bytes to the next one and receives as
 * many, then all add up 4 doubles; rank 0 broadcasts 64 bytes before. Argument: how much rank 1
 * computes before each sum, in millions of additions.
 */
#include <mpi.h>
#include <stdlib.h>

enum { STEPS = 10, BYTES = 1000, DOUBLES = 4, SETTINGS = 64 };

static volatile double sum;

static void compute(long millions)
{
	for (long i = 0; i < millions * 1000000; i++)
		sum += 1.0;
}

static void exchange(int rank, int n)
{
	static char out[BYTES], in[BYTES];
	MPI_Request requests[2];

	MPI_Irecv(in, BYTES, MPI_CHAR, (rank + n - 1) % n, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(out, BYTES, MPI_CHAR, (rank + 1) % n, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void add_up(void)
{
	double own[DOUBLES] = {0}, all[DOUBLES];

	MPI_Allreduce(own, all, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	char settings[SETTINGS] = "";
	int rank, n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Bcast(settings, SETTINGS, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int step = 0; step < STEPS; step++) {
		exchange(rank, n);
		if (rank == 1 && argc > 1)
			compute(strtol(argv[1], NULL, 10));
		add_up();
	}
	MPI_Finalize();
	return 0;
}
