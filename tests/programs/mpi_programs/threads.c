/* Threads that send to each other's ranks at once, with large counts where the MPI has such calls.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define MESSAGES 500
#define N 32

static int rank, n_ranks;

/* Each thread has messages of its own tag, which get longer; every fourth one goes to nobody. */
static void *send(void *argument)
{
	const int tag = *(const int *)argument;
	const int to = (rank + 1) % n_ranks, from = (rank + n_ranks - 1) % n_ranks;
	double out[N] = {0}, in[N];
	MPI_Request request;

	for (int i = 0; i < MESSAGES; i++) {
		MPI_Irecv(in, N, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &request);
		MPI_Send(out, i % N, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Send(out, 1, MPI_INT, i % 4 ? rank : MPI_PROC_NULL, THREADS + tag,
			 MPI_COMM_WORLD);
		if (i % 4)
			MPI_Recv(in, 1, MPI_INT, rank, THREADS + tag, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
	}
	return NULL;
}

static void count_largely(void)
{
#if MPI_VERSION >= 4
	long in[N] = {0}, out[N] = {0};
	MPI_Request request;

	MPI_Isend_c(out, N, MPI_LONG, rank, 0, MPI_COMM_WORLD, &request);
	MPI_Recv_c(in, N, MPI_LONG, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Sendrecv_c(out, 3, MPI_LONG, rank, 0, in, 3, MPI_LONG, rank, 0, MPI_COMM_WORLD,
		       MPI_STATUS_IGNORE);
	MPI_Allreduce_c(out, in, 5, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
#endif
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int numbers[THREADS], level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, send, &numbers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	count_largely();
	printf("rank %d is done\n", rank);
	return MPI_Finalize();
}
