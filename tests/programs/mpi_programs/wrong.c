/* Errors that MPI tells of: no requests at all, and a receive that is pending as another failed. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void fill_stack(void)
{
	volatile char left[8192];

	memset((void *)left, 0x5a, sizeof(left));
}

int main(int argc, char **argv)
{
	char out[32] = "", in[50];
	MPI_Request request[3];
	MPI_Status status;
	int failed;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	failed = MPI_Wait(NULL, &status) != MPI_SUCCESS;
	failed += MPI_Request_free(NULL) != MPI_SUCCESS;
	failed += MPI_Testall(3, NULL, &(int){0}, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
	MPI_Isend(out, 32, MPI_CHAR, 0, 6, MPI_COMM_SELF, &request[0]);
	MPI_Irecv(in, 8, MPI_CHAR, 0, 6, MPI_COMM_SELF, &request[1]);
	MPI_Irecv(in, 50, MPI_CHAR, 0, 7, MPI_COMM_SELF, &request[2]);
	fill_stack();
	/* MPICH would wait for what is sent below. */
	if (argc > 1)
		failed += MPI_Waitall(2, request + 1, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
	MPI_Send(out, 20, MPI_CHAR, 0, 7, MPI_COMM_SELF);
	if (argc <= 1)
		failed += MPI_Waitall(2, request + 1, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
	if (request[2] != MPI_REQUEST_NULL)
		MPI_Wait(&request[2], &status);
	MPI_Wait(&request[0], &status);
	printf("failed %d\n", failed);
	MPI_Finalize();
	return 0;
}
