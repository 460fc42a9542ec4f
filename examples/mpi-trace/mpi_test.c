/* What Example 4-4 was made of: each rank sends 21 sizes to the next one in a ring. */
#include <mpi.h>
#include <stdlib.h>

#define LARGEST (1 << 20)
#define BARRIERS 47

int main(int argc, char **argv)
{
	char *in = malloc(LARGEST), *out = calloc(1, LARGEST);
	int rank, ranks, barriers = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int size = 1; size <= LARGEST; size *= 2) {
		MPI_Request requests[2];

		MPI_Irecv(in, size, MPI_BYTE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
			  &requests[0]);
		MPI_Isend(out, size, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		barriers += 2;
	}
	while (barriers++ < BARRIERS)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	free(in);
	free(out);
	return 0;
}
