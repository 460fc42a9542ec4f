/* One-sided operations, files, and communicators that are parts of others: one_sided FILE. */
#include <mpi.h>
#include <stdio.h>

#define N 16

static void windows(int rank, int n_ranks)
{
	const int to = (rank + 1) % n_ranks;
	double shared[N] = {0}, own[N] = {1};
	MPI_Request request;
	MPI_Win window;

	MPI_Win_create(shared, sizeof(shared), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &window);
	MPI_Win_fence(0, window);
	MPI_Put(own, 5, MPI_DOUBLE, to, 0, 5, MPI_DOUBLE, window);
	MPI_Win_fence(0, window);
	MPI_Get(own, 3, MPI_DOUBLE, to, 0, 3, MPI_DOUBLE, window);
	MPI_Win_fence(0, window);
	MPI_Accumulate(own, 4, MPI_DOUBLE, to, 0, 4, MPI_DOUBLE, MPI_SUM, window);
	MPI_Win_fence(0, window);
	MPI_Win_lock_all(0, window);
	MPI_Rput(own, 2, MPI_DOUBLE, to, 0, 2, MPI_DOUBLE, window, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
}

static void files(const char *name, int rank)
{
	int numbers[N] = {0};
	MPI_Status status;
	MPI_File file;
	int count;

	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, (MPI_Offset)rank * N * (MPI_Offset)sizeof(int), numbers, N,
			      MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_write_at(file, (MPI_Offset)rank * N * (MPI_Offset)sizeof(int), numbers, 4, MPI_INT,
			  &status);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(file, 0, numbers, 8, MPI_INT, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	MPI_File_close(&file);
	if (!rank)
		printf("%d read\n", count);
}

static void parts(int rank, int n_ranks)
{
	int here, n_here, in = 0, numbers[2] = {rank, rank}, all[64] = {0};
	MPI_Comm half, between;
	MPI_Status status;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Comm_rank(half, &here);
	MPI_Comm_size(half, &n_here);
	/* In place, of a part. */
	MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT, MPI_SUM, half);
	MPI_Sendrecv(&here, 1, MPI_INT, (here + 1) % n_here, 1, &in, 1, MPI_INT,
		     (here + n_here - 1) % n_here, 1, half, &status);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 9, &between);
	MPI_Allgather(numbers, 2, MPI_INT, all, 2, MPI_INT, between);
	if (here < n_ranks / 2)
		MPI_Sendrecv(&here, 1, MPI_INT, here, 2, &in, 1, MPI_INT, here, 2, between,
			     &status);
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
	if (!rank)
		printf("%d\n", numbers[0] + in);
}

int main(int argc, char **argv)
{
	int rank, n_ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	windows(rank, n_ranks);
	files(argv[1], rank);
	parts(rank, n_ranks);
	MPI_Finalize();
	return 0;
}
