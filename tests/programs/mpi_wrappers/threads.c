/*
 * THREADS threads send to themselves SENDS times each, under MPI_THREAD_MULTIPLE; then rank 1 is
 * killed, if it is there, and says nothing.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4

static int sends;

static void *send_to_itself(void *argument)
{
	const int tag = *(const int *)argument;
	int sent = tag, came;
	MPI_Request request;

	for (int i = 0; i < sends; i++) {
		MPI_Irecv(&came, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
		MPI_Send(&sent, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (came != sent)
			abort();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int tag[THREADS], level, rank;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level != MPI_THREAD_MULTIPLE)
		return 1;
	sends = argc > 1 ? atoi(argv[1]) : 1000;
	for (int i = 0; i < THREADS; i++) {
		tag[i] = i;
		pthread_create(&thread[i], NULL, send_to_itself, &tag[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	/* The launcher ends rank 0 as well: once that has sent all. */
	if (argc > 2)
		MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 2 && rank == 1)
		kill(getpid(), SIGKILL);
	if (argc > 2)
		pause();
	MPI_Finalize();
	return 0;
}
