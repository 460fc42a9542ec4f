/* Datatypes that come and go, the handle of one again for the next; each moves TYPES integers at
 * most to the rank itself, once with a status and once without. */
#include <mpi.h>

#define TYPES 20

int main(int argc, char **argv)
{
	int sent[TYPES] = {0}, came[TYPES];
	MPI_Datatype type;
	MPI_Request request;
	MPI_Status status;

	MPI_Init(&argc, &argv);
	for (int n = 1; n <= TYPES; n++) {
		MPI_Type_contiguous(n, MPI_INT, &type);
		MPI_Type_commit(&type);
		MPI_Irecv(came, 1, type, 0, 0, MPI_COMM_SELF, &request);
		MPI_Send(sent, 1, type, 0, 0, MPI_COMM_SELF);
		MPI_Wait(&request, &status);
		MPI_Isend(sent, 1, type, 0, 0, MPI_COMM_SELF, &request);
		MPI_Recv(came, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Type_free(&type);
	}
	MPI_Finalize();
	return 0;
}
