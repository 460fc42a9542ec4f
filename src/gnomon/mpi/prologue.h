/*
 * What the expressions of bytes.toml need of MPI, for generated wrappers, which begin with this
 * text. Everything is asked for once a call has succeeded, so that its arguments are valid.
 */
#define GN_HELPER static __attribute__((unused))
/*
 * What comes behind MPI_Pcontrol's level is for another tool, which alone knows what it is: as many
 * words are passed on as can come in registers, numbers and addresses. The MPI looks at none.
 */
#define GN_TAKE_WORDS(last)                                                                        \
	uintptr_t gn_word[5];                                                                      \
	va_list gn_rest;                                                                           \
	va_start(gn_rest, last);                                                                   \
	for (int gn_i = 0; gn_i < 5; gn_i++)                                                       \
		gn_word[gn_i] = va_arg(gn_rest, uintptr_t);                                        \
	va_end(gn_rest)
#define GN_WORDS gn_word[0], gn_word[1], gn_word[2], gn_word[3], gn_word[4]
/* Not on the way of every call. */
#define GN_SELDOM static __attribute__((unused, noinline))
#define GN_FEW 32

/* Where a call comes from. Libraries for Fortran that call C (MPICH) have their own function in
 * between: what called that has left it here. */
#ifdef GN_FORTRAN_CALLS_C
static __thread struct {
	void *caller, *frame;
} gn_fortran __attribute__((tls_model("initial-exec"), unused));
#define GN_PLACE                                                                                   \
	gn_fortran.caller ? gn_fortran.caller : __builtin_return_address(0),                       \
		gn_fortran_frame(__builtin_frame_address(0))

/* What a function calls that MPI calls back is within the call that Fortran made, and has a frame
 * of its own. */
GN_HELPER void *gn_fortran_frame(void *own)
{
	const int is_within = gn_mpi_outer_frame() == (uintptr_t)gn_fortran.frame;

	return gn_fortran.caller && !is_within ? gn_fortran.frame : own;
}

GN_HELPER int gn_fortran_enter(void *caller, void *frame)
{
	if (gn_fortran.caller)
		return 0;
	gn_fortran.caller = caller;
	gn_fortran.frame = frame;
	return 1;
}

GN_HELPER void gn_fortran_leave(int is_outermost)
{
	if (is_outermost)
		gn_fortran.caller = NULL;
}
#else
#define GN_PLACE __builtin_return_address(0), __builtin_frame_address(0)
#endif

/* The same as those of wrapper.h, for wrappers of routines that programs call seldom. */
GN_SELDOM int gn_begin_seldom(struct gn_mpi_call *call, uint32_t routine, void *caller, void *frame)
{
	return gn_mpi_begin(call, routine, caller, frame);
}

GN_SELDOM void gn_stop_seldom(struct gn_mpi_call *call)
{
	gn_mpi_stop(call);
}

GN_SELDOM void gn_set_communicator_seldom(struct gn_mpi_call *call, MPI_Comm comm)
{
	gn_mpi_set_communicator(call, comm);
}

GN_HELPER int64_t gn_bytes(int64_t count, MPI_Datatype type)
{
	/* Of nothing, the type may be MPI_DATATYPE_NULL. */
	return count > 0 ? gn_mpi_bytes(count, type) : 0;
}

/* Sums over counts of one of both types that MPI has for them. */
#define GN_TOTALS(ending, type_of_count)                                                           \
	GN_SELDOM int64_t gn_total##ending(const type_of_count *counts, int n)                     \
	{                                                                                          \
		int64_t total = 0;                                                                 \
                                                                                                   \
		for (int i = 0; i < n; i++)                                                        \
			total += counts[i];                                                        \
		return total;                                                                      \
	}                                                                                          \
                                                                                                   \
	GN_SELDOM int64_t gn_total_bytes##ending(const type_of_count *counts,                      \
						 const MPI_Datatype *types, int n)                 \
	{                                                                                          \
		int64_t total = 0;                                                                 \
                                                                                                   \
		for (int i = 0; i < n; i++)                                                        \
			total += gn_bytes(counts[i], types[i]);                                    \
		return total;                                                                      \
	}

GN_TOTALS(, int)
#ifdef GN_HAS_LARGE_COUNTS
GN_TOTALS(_c, MPI_Count)
#endif

GN_HELPER int64_t gn_status_bytes(const MPI_Status *status)
{
	/* Where there was no memory for a status of our own, it is not known. */
	return status == MPI_STATUS_IGNORE ? 0 : gn_mpi_came(status);
}

GN_HELPER int gn_rank(MPI_Comm comm)
{
	int rank = 0;

	PMPI_Comm_rank(comm, &rank);
	return rank;
}

GN_HELPER int gn_local_ranks(MPI_Comm comm)
{
	int ranks = 0;

	PMPI_Comm_size(comm, &ranks);
	return ranks;
}

GN_SELDOM int gn_ranks(MPI_Comm comm)
{
	int ranks = 0, between = 0;

	PMPI_Comm_test_inter(comm, &between);
	if (!between)
		return gn_local_ranks(comm);
	PMPI_Comm_remote_size(comm, &ranks);
	return ranks;
}

GN_SELDOM int gn_at_root(int root, MPI_Comm comm)
{
	int between = 0;

	if (root == MPI_ROOT)
		return 1;
	if (root != gn_rank(comm))
		return 0;
	/* Of an inter-communicator, that rank is another process, in the other group. */
	PMPI_Comm_test_inter(comm, &between);
	return !between;
}

/* Neighbours of this rank in a topology, from which it receives or to which it sends. A Cartesian
 * one has two in each dimension, beyond an edge, too. */
GN_SELDOM int gn_degree(MPI_Comm comm, int outgoing)
{
	int topology = MPI_UNDEFINED, in = 0, out = 0, weighted = 0;

	PMPI_Topo_test(comm, &topology);
	if (topology == MPI_CART) {
		PMPI_Cartdim_get(comm, &in);
		return 2 * in;
	}
	if (topology == MPI_GRAPH) {
		PMPI_Graph_neighbors_count(comm, gn_rank(comm), &in);
		return in;
	}
#ifdef GN_HAS_DIST_GRAPH
	if (topology == MPI_DIST_GRAPH)
		PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
#endif
	(void)weighted;
	return outgoing ? out : in;
}

/* Statuses that the program wants, or of our own where it wants none: some of `few`, or of the
 * heap. MPI_STATUSES_IGNORE without memory: the program's call is what matters. */
GN_SELDOM MPI_Status *gn_statuses_for(MPI_Status *wanted, MPI_Status *few, int n)
{
	MPI_Status *many;

	if (wanted != MPI_STATUSES_IGNORE)
		return wanted;
	if (n <= GN_FEW)
		return few;
	many = malloc((size_t)n * sizeof(*many));
	return many ? many : MPI_STATUSES_IGNORE;
}

GN_HELPER void gn_free_statuses(MPI_Status *statuses, MPI_Status *wanted, MPI_Status *few)
{
	if (statuses != wanted && statuses != few && statuses != MPI_STATUSES_IGNORE)
		free(statuses);
}

/* Whether statuses and what is completed are told: not if a call failed as a whole. */
GN_HELPER int gn_told(int result)
{
	return result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS;
}

/* Statuses as they are handed on: NULL where they are not known. */
GN_HELPER MPI_Status *gn_known(int result, MPI_Status *statuses)
{
	if (!gn_told(result) || statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE)
		return NULL;
	return statuses;
}
