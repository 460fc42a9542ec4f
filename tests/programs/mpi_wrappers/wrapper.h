/*
 * Stands in for native/mpi/wrapper.h in tests of generated wrappers: writes what it is told about
 * each call as a line to the file that GN_TOLD names, with the rank appended; it keeps nothing
 * itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAND_IN static __attribute__((noinline, unused))

enum { GN_MPI_RECEIVES = 1, GN_MPI_PERSISTS = 2 };

struct gn_mpi_call {
	int64_t sent, received;
	uint32_t communicator;
	int32_t peer;
	uint32_t routine;
	int is_pending;
	void *caller;
};

static __thread uintptr_t gn_mpi_frame;
/* Requests whose statuses say what came: of others a status says nothing. */
static MPI_Request gn_mpi_receives[256];
static int gn_mpi_n_receives, gn_mpi_is_receive[256];
static __thread char gn_mpi_notes[4096];

STAND_IN int64_t gn_mpi_bytes(int64_t count, MPI_Datatype type)
{
	int size = 0;

	PMPI_Type_size(type, &size);
	return count * size;
}

STAND_IN void gn_mpi_set_communicator(struct gn_mpi_call *call, MPI_Comm comm)
{
	int size = 0;

	PMPI_Comm_size(comm, &size);
	call->communicator = (uint32_t)size;
}

STAND_IN void gn_mpi_set_peer(struct gn_mpi_call *call, MPI_Comm comm, int rank)
{
	gn_mpi_set_communicator(call, comm);
	call->peer = rank;
}

STAND_IN uintptr_t gn_mpi_outer_frame(void)
{
	return gn_mpi_frame;
}

STAND_IN int gn_mpi_begin(struct gn_mpi_call *call, uint32_t routine, void *caller, void *frame)
{
	if ((uintptr_t)frame < gn_mpi_frame)
		return 0;
	gn_mpi_frame = (uintptr_t)frame;
	memset(call, 0, sizeof(*call));
	call->peer = INT32_MIN;
	call->routine = routine;
	call->caller = caller;
	gn_mpi_notes[0] = 0;
	return 1;
}

STAND_IN void gn_mpi_stop(struct gn_mpi_call *call)
{
	(void)call;
}

#define GN_NOTE(...)                                                                               \
	do {                                                                                       \
		size_t used = strlen(gn_mpi_notes);                                                \
		snprintf(gn_mpi_notes + used, sizeof(gn_mpi_notes) - used, __VA_ARGS__);           \
	} while (0)

/* The file that a call came from; "program" for that of the program itself. */
STAND_IN const char *gn_mpi_origin(const struct gn_mpi_call *call)
{
	const char *name;
	Dl_info place;

	if (!dladdr(call->caller, &place))
		return "nowhere";
	if (!strcmp(place.dli_fname, program_invocation_name))
		return "program";
	name = strrchr(place.dli_fname, '/');
	return name ? name + 1 : place.dli_fname;
}

/* Writes what a call or the request that it made is about. */
STAND_IN void gn_mpi_tell(const struct gn_mpi_call *call, const char *what)
{
	const char *name = getenv("GN_TOLD");
	static FILE *file;
	char path[4096], peer[16];

	if (!name)
		return;
	if (!file) {
		snprintf(path, sizeof(path), "%s.%d", name, getpid());
		file = fopen(path, "w");
		if (!file)
			abort();
		setvbuf(file, NULL, _IOLBF, 0);
	}
	snprintf(peer, sizeof(peer), "%d", call->peer);
	fprintf(file, "%s%s sent=%lld received=%lld comm=%u peer=%s from=%s%s\n", what,
		gn_mpi_names[call->routine], (long long)call->sent, (long long)call->received,
		call->communicator,
		call->peer == INT32_MIN	      ? "none"
		: call->peer == MPI_PROC_NULL ? "null"
					      : peer,
		gn_mpi_origin(call), gn_mpi_notes);
}

STAND_IN void gn_mpi_end(struct gn_mpi_call *call)
{
	gn_mpi_frame = 0;
	gn_mpi_tell(call, "");
}

STAND_IN uint64_t gn_mpi_wait_for_all(struct gn_mpi_call *call, MPI_Comm comm)
{
	(void)call, (void)comm;
	return 0;
}

STAND_IN void gn_mpi_waited(struct gn_mpi_call *call, uint64_t ticks)
{
	(void)call, (void)ticks;
}

STAND_IN void gn_mpi_start(struct gn_mpi_call *call, const MPI_Request *request, int flags)
{
	if (flags & GN_MPI_RECEIVES)
		gn_mpi_receives[gn_mpi_n_receives++ % 256] = *request;
	snprintf(gn_mpi_notes, sizeof(gn_mpi_notes), "%s%s%s",
		 *request == MPI_REQUEST_NULL ? " null" : "",
		 flags & GN_MPI_RECEIVES ? " receives" : "",
		 flags & GN_MPI_PERSISTS ? " persists" : "");
	gn_mpi_tell(call, "request of ");
}

STAND_IN void gn_mpi_started(struct gn_mpi_call *call, MPI_Request *request)
{
	(void)call;
	GN_NOTE(" started=%s", *request == MPI_REQUEST_NULL ? "null" : "request");
}

STAND_IN void gn_mpi_before_completion(struct gn_mpi_call *call, int n, const MPI_Request *requests)
{
	int null = 0;

	(void)call;
	for (int i = 0; i < n; i++) {
		null += requests[i] == MPI_REQUEST_NULL;
		gn_mpi_is_receive[i % 256] = 0;
		for (int k = 0; k < 256 && requests[i] != MPI_REQUEST_NULL; k++) {
			if (gn_mpi_receives[k] == requests[i] && k < gn_mpi_n_receives)
				gn_mpi_is_receive[i % 256] = k + 1;
		}
	}
	GN_NOTE(" before=%d", n - null);
}

STAND_IN int64_t gn_mpi_came(const MPI_Status *status)
{
	MPI_Count count = 0;

	if (status)
		PMPI_Get_elements_x(status, MPI_BYTE, &count);
	return count > 0 ? count : 0;
}

STAND_IN void gn_mpi_completed(struct gn_mpi_call *call, int n, const MPI_Request *requests,
			       MPI_Status *statuses, const int *indices, int n_completed,
			       int result)
{
	long long total = 0;
	int came = 0;

	(void)call;
	(void)n;
	(void)result;
	(void)requests;
	GN_NOTE(" completed=%d", n_completed);
	for (int i = 0; i < n_completed; i++) {
		int index = indices ? indices[i] : i, k = gn_mpi_is_receive[index % 256];

		if (!k)
			continue;
		gn_mpi_receives[k - 1] = MPI_REQUEST_NULL;
		total += gn_mpi_came(statuses ? &statuses[i] : NULL);
		came++;
	}
	GN_NOTE(" receives=%d bytes=%lld", came, total);
}

STAND_IN void gn_mpi_freed(struct gn_mpi_call *call, const MPI_Request *request)
{
	(void)call;
	GN_NOTE(" freed=%s", *request == MPI_REQUEST_NULL ? "null" : "request");
}

STAND_IN void gn_mpi_up(struct gn_mpi_call *call)
{
	(void)call;
	GN_NOTE(" up");
}

STAND_IN void gn_mpi_down(struct gn_mpi_call *call)
{
	(void)call;
	fflush(NULL);
}

STAND_IN void gn_mpi_control(int level)
{
	(void)level;
}
