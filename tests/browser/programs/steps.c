/* Ranks that compute, write blocks of one file, wait for each other, and read it backward. */
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK_BYTES = 256 * 1024, BLOCKS = 24, STEPS = 8 };

static double compute(int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += sqrt(i);
	return sum;
}

static void write_step(int fd, const char *block, int step, int rank, int ranks)
{
	for (int i = 0; i < BLOCKS; i++) {
		const off_t place = ((off_t)(step * BLOCKS + i) * ranks + rank) * BLOCK_BYTES;

		if (pwrite(fd, block, BLOCK_BYTES, place) != BLOCK_BYTES)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void read_backward(int fd, char *block, int rank, int ranks)
{
	for (int i = STEPS * BLOCKS - 1; i >= 0; i--) {
		const off_t place = ((off_t)i * ranks + (rank + 1) % ranks) * BLOCK_BYTES;

		if (pread(fd, block, BLOCK_BYTES, place) != BLOCK_BYTES)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

int main(int argc, char **argv)
{
	char *block = calloc(1, BLOCK_BYTES);
	double sum = 0;
	int rank, ranks, fd;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	fd = open("steps.dat", O_RDWR | O_CREAT, 0640);
	for (int step = 0; step < STEPS; step++) {
		sum += compute(5000000 * (1 + (rank == 2)));
		write_step(fd, block, step, rank, ranks);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	read_backward(fd, block, rank, ranks);
	close(fd);
	if (rank == 0)
		printf("%g\n", sum);
	MPI_Finalize();
	free(block);
	return 0;
}
