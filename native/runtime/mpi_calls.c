/* MPI as it is found in the program. */
#include "mpi_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mpi_library.h"

/* The same number in both interfaces. */
#define THREAD_MULTIPLE 3

/* MPICH's, as its ABI Compatibility Initiative fixes them. */
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_BYTE 0x4c00010d
#define MPICH_STATUS_IGNORE ((void *)1)

#define VERSION_SIZE 8192 /* both interfaces have less */

typedef int flag_function(int *flag);
typedef int version_function(char *text, int *length);
typedef int world_function_a(void *world, int *number);
typedef int world_function_n(int world, int *number);
typedef int send_function_a(const void *bytes, int size, void *type, int rank, int tag, void *world,
			    void *request);
typedef int send_function_n(const void *bytes, int size, int type, int rank, int tag, int world,
			    void *request);
typedef int receive_function_a(void *bytes, int size, void *type, int rank, int tag, void *world,
			       void *request);
typedef int receive_function_n(void *bytes, int size, int type, int rank, int tag, int world,
			       void *request);
typedef int test_function(void *request, int *flag, void *status);
typedef int request_function(void *request);

/* Functions by one type, as dlsym(3) has none for them. */
typedef void any_function(void);

static struct {
	void *library; /* RTLD_DEFAULT, or one that only its user sees */
	int is_openmpi;
	void *world; /* Open MPI's */
	void *byte;
	any_function *rank, *size, *isend, *irecv, *test, *cancel, *forget;
} mpi;

/* By the names that tools which watch a program's calls do not see, if they are there. */
static any_function *find(const char *name)
{
	char hidden[64] = "P";
	any_function *function;
	void *symbol;

	strncat(hidden, name, sizeof(hidden) - 2);
	symbol = dlsym(mpi.library, hidden);
	if (!symbol)
		symbol = dlsym(mpi.library, name);
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

/*
 * An interpreter's MPI is a library of an extension, which RTLD_DEFAULT does not reach. It comes
 * before what has the plain names only: these may be a tool's, for an MPI that is to come.
 */
static void find_library(void)
{
	void *library;

	mpi.library = RTLD_DEFAULT;
	if (dlsym(RTLD_DEFAULT, "PMPI_Initialized"))
		return;
	library = gn_mpi_library("MPI_Initialized");
	if (library)
		mpi.library = library;
}

static int asks(const char *name, int *answer)
{
	flag_function *function = (flag_function *)find(name);

	return !function || function(answer);
}

static int is_up(void)
{
	int is_initialized = 0, is_finalized = 1, level = 0, is_main = 0;

	if (asks("MPI_Initialized", &is_initialized) || !is_initialized ||
	    asks("MPI_Finalized", &is_finalized) || is_finalized)
		return 0;
	if (asks("MPI_Query_thread", &level))
		return 0;
	return level >= THREAD_MULTIPLE || (!asks("MPI_Is_thread_main", &is_main) && is_main);
}

static int knows_interface(void)
{
	static const char *const kin[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"};
	version_function *function = (version_function *)find("MPI_Get_library_version");
	char text[VERSION_SIZE] = "";
	int length;

	mpi.world = dlsym(mpi.library, "ompi_mpi_comm_world");
	mpi.byte = dlsym(mpi.library, "ompi_mpi_byte");
	mpi.is_openmpi = mpi.world && mpi.byte;
	if (mpi.is_openmpi)
		return 1;
	if (!function || function(text, &length))
		return 0;
	for (size_t i = 0; i < sizeof(kin) / sizeof(*kin); i++)
		if (strstr(text, kin[i]))
			return 1;
	return 0;
}

static int ask_world(any_function *function, int *number)
{
	return mpi.is_openmpi ? ((world_function_a *)function)(mpi.world, number)
			      : ((world_function_n *)function)(MPICH_COMM_WORLD, number);
}

int gn_mpi_find(int *rank, int *ranks)
{
	find_library();
	if (!is_up() || !knows_interface())
		return ENOTSUP;
	mpi.rank = find("MPI_Comm_rank");
	mpi.size = find("MPI_Comm_size");
	mpi.isend = find("MPI_Isend");
	mpi.irecv = find("MPI_Irecv");
	mpi.test = find("MPI_Test");
	mpi.cancel = find("MPI_Cancel");
	mpi.forget = find("MPI_Request_free");
	if (!mpi.rank || !mpi.size || !mpi.isend || !mpi.irecv || !mpi.test || !mpi.cancel ||
	    !mpi.forget)
		return ENOTSUP;
	return ask_world(mpi.rank, rank) || ask_world(mpi.size, ranks) ? ENOTSUP : 0;
}

int gn_mpi_isend(const void *bytes, int size, int rank, int tag, union gn_mpi_handle *request)
{
	return mpi.is_openmpi ? ((send_function_a *)mpi.isend)(bytes, size, mpi.byte, rank, tag,
							       mpi.world, request)
			      : ((send_function_n *)mpi.isend)(bytes, size, MPICH_BYTE, rank, tag,
							       MPICH_COMM_WORLD, request);
}

int gn_mpi_irecv(void *bytes, int size, int rank, int tag, union gn_mpi_handle *request)
{
	return mpi.is_openmpi ? ((receive_function_a *)mpi.irecv)(bytes, size, mpi.byte, rank, tag,
								  mpi.world, request)
			      : ((receive_function_n *)mpi.irecv)(bytes, size, MPICH_BYTE, rank,
								  tag, MPICH_COMM_WORLD, request);
}

int gn_mpi_test(union gn_mpi_handle *request)
{
	int is_complete = 0;

	if (((test_function *)mpi.test)(request, &is_complete,
					mpi.is_openmpi ? NULL : MPICH_STATUS_IGNORE))
		return -1;
	return is_complete;
}

void gn_mpi_cancel(union gn_mpi_handle *request)
{
	((request_function *)mpi.cancel)(request);
}

void gn_mpi_forget(union gn_mpi_handle *request)
{
	((request_function *)mpi.forget)(request);
}
