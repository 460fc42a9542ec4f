/*
 * Calls of MPI whose numbers and bytes are known, for tests of the wrappers: ranks 0 to 3 of a job
 * of four do the same, unless a line says otherwise. Prints "ok" from rank 0 if all data was right.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 10

static int rank, ranks, wrong;

static void check(int holds, const char *what)
{
	if (holds)
		return;
	wrong = 1;
	fprintf(stderr, "rank %d: %s\n", rank, what);
}

static void point_to_point(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	double data[N] = {rank}, other[2 * N];
	MPI_Status status;
	MPI_Message message;
	int count = 0;

	if (rank % 2) {
		MPI_Recv(other, 2 * N, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(data, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
	} else {
		MPI_Send(data, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
		MPI_Recv(other, 2 * N, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_DOUBLE, &count);
		check(count == N && status.MPI_SOURCE == before, "status of MPI_Recv");
	}
	check(other[0] == before, "data of MPI_Recv");
	MPI_Sendrecv(data, 3, MPI_DOUBLE, next, 2, other, N, MPI_DOUBLE, before, 2, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Send(data, N, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
	MPI_Sendrecv_replace(data, 1, MPI_INT, next, 4, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	MPI_Sendrecv(data, 5, MPI_CHAR, 0, 6, other, N, MPI_CHAR, 0, 6, MPI_COMM_SELF,
		     MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Send(data, 4, MPI_INT, 1, 7, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(other, N, MPI_INT, &message, MPI_STATUS_IGNORE);
	}
}

static void requests(void)
{
	enum { MANY = 40 };
	MPI_Request request[2 * MANY], persistent;
	int got[MANY], sent[MANY], next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	int index = -1, flag = 0, n = 0, indices[2];

	for (int i = 0; i < MANY; i++) {
		sent[i] = rank;
		MPI_Irecv(&got[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &request[i]);
	}
	for (int i = 0; i < MANY; i++)
		MPI_Isend(&sent[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &request[MANY + i]);
	MPI_Waitall(2 * MANY, request, MPI_STATUSES_IGNORE);
	check(got[MANY - 1] == before, "data of MPI_Waitall");
	for (int i = 0; i < 2 * MANY; i++)
		check(request[i] == MPI_REQUEST_NULL, "request of MPI_Waitall");

	MPI_Irecv(got, 2, MPI_INT, MPI_ANY_SOURCE, 100, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(sent, 2, MPI_INT, next, 100, MPI_COMM_WORLD, &request[1]);
	MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
	MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
	MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
	check(index == MPI_UNDEFINED, "index of MPI_Waitany");

	MPI_Irecv(got, 3, MPI_INT, before, 101, MPI_COMM_WORLD, &request[0]);
	MPI_Send(sent, 3, MPI_INT, next, 101, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Waitsome(1, request, &n, indices, MPI_STATUSES_IGNORE);
	check(n == 1 && indices[0] == 0, "index of MPI_Waitsome");

	MPI_Irecv(got, 3, MPI_INT, before, 102, MPI_COMM_WORLD, &request[0]);
	MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
	check(!flag, "flag of MPI_Test");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(sent, 3, MPI_INT, next, 102, MPI_COMM_WORLD);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);

	MPI_Send_init(sent, 5, MPI_INT, next, 103, MPI_COMM_WORLD, &persistent);
	for (int i = 0; i < 2; i++) {
		MPI_Irecv(got, 5, MPI_INT, before, 103, MPI_COMM_WORLD, &request[0]);
		MPI_Start(&persistent);
		MPI_Wait(&persistent, MPI_STATUS_IGNORE);
		MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&persistent);
	MPI_Ibarrier(MPI_COMM_WORLD, &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

static void collectives(void)
{
	int in[64] = {rank}, out[64] = {rank}, counts[4] = {1, 2, 3, 4}, places[4] = {0, 1, 3, 6};
	MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
	int offsets[4] = {0, 4, 12, 24};
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Request request;

	MPI_Bcast(in, 7, MPI_INT, 1, comm);
	MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, 0, comm);
	MPI_Gather(rank ? in : MPI_IN_PLACE, 2, MPI_INT, out, 2, MPI_INT, 0, comm);
	MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, 2, comm);
	MPI_Scatter(in, 3, MPI_INT, rank ? out : MPI_IN_PLACE, 3, MPI_INT, 0, comm);
	MPI_Scatterv(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, 3, comm);
	MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, comm);
	MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, comm);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, comm);
	for (int i = 0; i < 4; i++)
		counts[i] = rank + i;
	memcpy(places, (int[]){0, 8, 16, 24}, sizeof(places));
	memcpy(offsets, (int[]){0, 32, 64, 96}, sizeof(offsets));
	MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
	MPI_Alltoallw(in, counts, offsets, types, out, counts, offsets, types, comm);
	memcpy(counts, (int[]){1, 2, 3, 4}, sizeof(counts));
	MPI_Reduce(rank ? in : MPI_IN_PLACE, out, 6, MPI_INT, MPI_SUM, 0, comm);
	in[0] = rank;
	MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, comm);
	check(in[0] == 6, "data of MPI_Allreduce");
	MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
	MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, comm);
	MPI_Scan(in, out, 3, MPI_INT, MPI_SUM, comm);
	MPI_Exscan(in, out, 3, MPI_INT, MPI_SUM, comm);
	MPI_Iallreduce(in, out, 8, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void topologies(void)
{
	int size[1] = {4}, periodic[1] = {1}, half = rank / 2, in[8] = {0}, out[32];
	MPI_Comm ring, pair, across;

	MPI_Cart_create(MPI_COMM_WORLD, 1, size, periodic, 0, &ring);
	MPI_Neighbor_allgather(in, 3, MPI_INT, out, 3, MPI_INT, ring);
	MPI_Neighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, ring);
	MPI_Comm_free(&ring);
	MPI_Comm_split(MPI_COMM_WORLD, half, rank, &pair);
	MPI_Intercomm_create(pair, 0, MPI_COMM_WORLD, half ? 0 : 2, 9, &across);
	/* From rank 0 to those of the other group. */
	MPI_Bcast(in, 4, MPI_INT, half ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, across);
	MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, across);
	MPI_Comm_free(&across);
	MPI_Comm_free(&pair);
}

static void windows_and_files(const char *path)
{
	int memory[16] = {0}, data[8] = {0}, result[8];
	int next = (rank + 1) % ranks;
	MPI_Request request;
	MPI_File file;
	MPI_Win window;

	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_fence(0, window);
	MPI_Put(data, 2, MPI_INT, next, 0, 2, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Get(data, 3, MPI_INT, next, 0, 3, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Accumulate(data, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_SUM, window);
	MPI_Win_fence(0, window);
	MPI_Get_accumulate(data, 5, MPI_INT, result, 5, MPI_INT, next, 0, 5, MPI_INT, MPI_SUM,
			   window);
	MPI_Win_fence(0, window);
	MPI_Get_accumulate(NULL, 0, MPI_INT, result, 6, MPI_INT, next, 0, 6, MPI_INT, MPI_NO_OP,
			   window);
	MPI_Win_fence(0, window);
	MPI_Fetch_and_op(data, result, MPI_INT, next, 0, MPI_SUM, window);
	MPI_Win_fence(0, window);
	MPI_Win_free(&window);

	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at(file, 4 * 4 * rank, data, 4, MPI_INT, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	/* Of the last rank, only its own four are there. */
	MPI_File_read_at(file, 4 * 4 * rank, memory, 8, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_iread_at(file, 4 * 4 * rank, memory, 2, MPI_INT, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

static void errors(void)
{
	int data = 0;
	MPI_Request none = MPI_REQUEST_NULL;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	check(MPI_Ssend(&data, 1, MPI_INT, ranks + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
	      "MPI_Ssend to a rank that there is not");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
	MPI_Wait(&none, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	point_to_point();
	requests();
	collectives();
	topologies();
	windows_and_files(argv[1]);
	errors();
	MPI_Pcontrol(1, "of no interest");
	if (!wrong && rank == 0)
		puts("ok");
	MPI_Finalize();
	return wrong;
}
