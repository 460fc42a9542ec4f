/* Another tool by MPI's profiling interface: counts two routines, and says so at the end. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

static int sends, barriers, level;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	sends++;
	return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
	int rank;

	/* What a tool calls of MPI for itself is no call of the program. */
	MPI_Comm_rank(comm, &rank);
	barriers++;
	return PMPI_Barrier(comm);
}

int MPI_Pcontrol(const int asked, ...)
{
	va_list arguments;

	va_start(arguments, asked);
	level = asked + (asked > 1 ? va_arg(arguments, int) : 0);
	va_end(arguments);
	return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("tool of rank %d: %d sends, %d barriers, %d\n", rank, sends, barriers, level);
	return PMPI_Finalize();
}

/* The same for Fortran, as mpiP has it. */
void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
	       MPI_Fint *comm, MPI_Fint *error);
void mpi_finalize_(MPI_Fint *error);

void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *to, MPI_Fint *tag,
	       MPI_Fint *comm, MPI_Fint *error)
{
	sends++;
	*error = PMPI_Send(buffer, *count, PMPI_Type_f2c(*type), *to, *tag, PMPI_Comm_f2c(*comm));
}

void mpi_finalize_(MPI_Fint *error)
{
	*error = MPI_Finalize();
}
