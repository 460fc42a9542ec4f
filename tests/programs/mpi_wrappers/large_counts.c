/*
 * Calls of MPI beyond 2 GiB and, where MPI is of version 4, with large counts, persistent and
 * partitioned ones, all of one rank with itself. Prints "ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if MPI_VERSION >= 4
static int data[16], other[16];

static void large_counts(void)
{
	MPI_Count counts[1] = {5};
	MPI_Aint places[1] = {0};
	MPI_Datatype types[1] = {MPI_INT};
	MPI_Request request;

	MPI_Isend_c(data, 3, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
	MPI_Recv_c(other, 16, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Bcast_c(data, 7, MPI_INT, 0, MPI_COMM_SELF);
	MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, counts, places, MPI_INT,
			 MPI_COMM_SELF);
	MPI_Alltoallv_c(data, counts, places, MPI_INT, other, counts, places, MPI_INT,
			MPI_COMM_SELF);
	MPI_Alltoallw_c(data, counts, places, types, other, counts, places, types, MPI_COMM_SELF);
}

static void later_starts(void)
{
	MPI_Request request[2];

	MPI_Allreduce_init(data, other, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, request);
	MPI_Start(request);
	MPI_Wait(request, MPI_STATUS_IGNORE);
	MPI_Request_free(request);
	MPI_Psend_init(data, 2, 3, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &request[0]);
	MPI_Precv_init(other, 2, 3, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &request[1]);
	MPI_Startall(2, request);
	MPI_Pready(0, request[0]);
	MPI_Pready(1, request[0]);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	MPI_Request_free(&request[0]);
	MPI_Request_free(&request[1]);
}
#endif

int main(int argc, char **argv)
{
	const size_t size = (size_t)4 << 30;
	MPI_Datatype large;
	void *memory;

	MPI_Init(&argc, &argv);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	MPI_Type_contiguous(1 << 20, MPI_INT, &large);
	MPI_Type_commit(&large);
	MPI_Bcast(memory, 1024, large, 0, MPI_COMM_SELF);
	MPI_Type_free(&large);
#if MPI_VERSION >= 4
	large_counts();
	later_starts();
#endif
	puts("ok");
	MPI_Finalize();
	return 0;
}
