/*
 * What generated interposers for Fortran need that measure: those for routines whose library for
 * Fortran calls MPI's insides (Open MPI) or its PMPI functions (mpi_f08 of MPICH), and no C
 * function that could be wrapped. Handles and statuses become those of C; the rest is passed on.
 */
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran's INTEGER has to be C's int");

#define GN_F_STATUS (sizeof(MPI_Status) / sizeof(MPI_Fint))

#ifdef GN_FORTRAN_CALLS_C
GN_HELPER const void *gn_f_buffer(const void *buffer)
{
	return buffer;
}

GN_HELPER int gn_f_ignored(const void *status)
{
	return !status || status == (const void *)MPI_F_STATUS_IGNORE ||
	       status == (const void *)MPI_F_STATUSES_IGNORE ||
	       status == (const void *)MPI_F08_STATUS_IGNORE ||
	       status == (const void *)MPI_F08_STATUSES_IGNORE;
}
#else
/* Constants of Fortran are addresses; which name they have depends on the compiler. */
#define GN_F_CONSTANT(lower, upper)                                                                \
	extern int lower __attribute__((weak)), lower##_ __attribute__((weak)),                    \
		lower##__ __attribute__((weak)), upper __attribute__((weak));                      \
	GN_SELDOM int gn_is_##lower(const void *address)                                           \
	{                                                                                          \
		return address && (address == &lower || address == &lower##_ ||                    \
				   address == &lower##__ || address == &upper);                    \
	}
GN_F_CONSTANT(mpi_fortran_in_place, MPI_FORTRAN_IN_PLACE)
GN_F_CONSTANT(mpi_fortran_status_ignore, MPI_FORTRAN_STATUS_IGNORE)
GN_F_CONSTANT(mpi_fortran_statuses_ignore, MPI_FORTRAN_STATUSES_IGNORE)

GN_HELPER const void *gn_f_buffer(const void *buffer)
{
	return gn_is_mpi_fortran_in_place(buffer) ? MPI_IN_PLACE : buffer;
}

GN_HELPER int gn_f_ignored(const void *status)
{
	return !status || gn_is_mpi_fortran_status_ignore(status) ||
	       gn_is_mpi_fortran_statuses_ignore(status);
}

#endif

GN_HELPER int64_t gn_total_f(const MPI_Fint *counts, int n)
{
	return gn_total(counts, n);
}

GN_SELDOM int64_t gn_total_bytes_f(const MPI_Fint *counts, const MPI_Fint *types, int n)
{
	int64_t total = 0;

	for (int i = 0; i < n; i++) {
		if (counts[i] > 0)
			total += gn_bytes(counts[i], PMPI_Type_f2c(types[i]));
	}
	return total;
}

GN_SELDOM int64_t gn_f_status_bytes(const MPI_Fint *status)
{
	MPI_Status as_c;

	return PMPI_Status_f2c(status, &as_c) == MPI_SUCCESS ? gn_status_bytes(&as_c) : 0;
}

GN_HELPER void gn_f_start(struct gn_mpi_call *call, const MPI_Fint *request, int flags)
{
	MPI_Request as_c = PMPI_Request_f2c(*request);

	gn_mpi_start(call, &as_c, flags);
}

GN_HELPER void gn_f_freed(struct gn_mpi_call *call, const MPI_Fint *request)
{
	MPI_Request as_c = PMPI_Request_f2c(*request);

	gn_mpi_freed(call, &as_c);
}

GN_SELDOM void gn_f_started(struct gn_mpi_call *call, const MPI_Fint *requests, int n)
{
	for (int i = 0; i < n; i++) {
		MPI_Request as_c = PMPI_Request_f2c(requests[i]);

		gn_mpi_started(call, &as_c);
	}
}

/* A call that waits or tests: its requests, indices and statuses as those of C, in one block of the
 * heap if they are many. Without memory nothing is told of them. */
struct gn_f_wait {
	int n;
	MPI_Request *requests;
	unsigned char *were_null;
	MPI_Status *statuses;
	int *indices;
	MPI_Fint *own; /* in the place of MPI_STATUS(ES)_IGNORE */
	void *block;
	MPI_Request few_requests[GN_FEW];
	MPI_Status few_statuses[GN_FEW];
	int few_indices[GN_FEW];
	unsigned char few_null[GN_FEW];
	MPI_Fint few_own[GN_FEW * GN_F_STATUS];
};

GN_SELDOM void gn_f_requests(struct gn_f_wait *wait, const MPI_Fint *requests)
{
	for (int i = 0; i < wait->n; i++)
		wait->requests[i] = PMPI_Request_f2c(requests[i]);
}

/* The statuses to pass on. */
GN_SELDOM MPI_Fint *gn_f_before(struct gn_f_wait *wait, struct gn_mpi_call *call, int n,
				const MPI_Fint *requests, MPI_Fint *statuses)
{
	const size_t each = sizeof(MPI_Status) * 2 + sizeof(MPI_Request) + sizeof(int) + 1;

	wait->n = n;
	wait->block = NULL;
	wait->requests = wait->few_requests;
	wait->statuses = wait->few_statuses;
	wait->indices = wait->few_indices;
	wait->were_null = wait->few_null;
	wait->own = wait->few_own;
	if (n > GN_FEW) {
		wait->block = malloc((size_t)n * each);
		if (!wait->block) {
			wait->n = 0;
			return statuses;
		}
		wait->statuses = wait->block;
		wait->requests = (MPI_Request *)(wait->statuses + 2 * (size_t)n);
		wait->own = (MPI_Fint *)(wait->statuses + n);
		wait->indices = (int *)(wait->requests + n);
		wait->were_null = (unsigned char *)(wait->indices + n);
	}
	gn_f_requests(wait, requests);
	for (int i = 0; i < n; i++)
		wait->were_null[i] = wait->requests[i] == MPI_REQUEST_NULL;
	gn_mpi_before_completion(call, wait->n, wait->requests);
	if (!gn_f_ignored(statuses))
		wait->own = statuses;
	return wait->own;
}

/* Whether a request was there before the call and is not any more. */
GN_HELPER int gn_f_is_over(const struct gn_f_wait *wait, int i)
{
	return i >= 0 && i < wait->n && !wait->were_null[i] &&
	       wait->requests[i] == MPI_REQUEST_NULL;
}

/* What indices begin with: in Fortran with 1, but mpi_f08 of MPICH 4.0 returns those of C. Either
 * a call's indices are possible as one of both only, or requests tell that are over. */
GN_SELDOM int gn_f_first_index(const struct gn_f_wait *wait, const MPI_Fint *indices, int n)
{
#ifdef GN_FORTRAN_CALLS_C
	for (int i = 0; i < n; i++)
		if (indices[i] <= 0 || indices[i] >= wait->n)
			return indices[i] > 0;
	for (int i = 0; i < n; i++)
		if (gn_f_is_over(wait, indices[i]) != gn_f_is_over(wait, indices[i] - 1))
			return !gn_f_is_over(wait, indices[i]);
#else
	(void)wait;
	(void)indices;
	(void)n;
#endif
	return 1;
}

/* `n` were completed, those of `indices` (from 1 on), or the first if there are none. */
GN_SELDOM void gn_f_after(struct gn_f_wait *wait, struct gn_mpi_call *call, int result,
			  const MPI_Fint *requests, const MPI_Fint *indices, int n)
{
	int is_known = gn_told(result), first;

	if (n > wait->n)
		n = wait->n;
	gn_f_requests(wait, requests);
	first = indices ? gn_f_first_index(wait, indices, n) : 0;
	for (int i = 0; i < n; i++) {
		if (indices)
			wait->indices[i] = indices[i] - first;
		if (is_known)
			PMPI_Status_f2c(wait->own + (size_t)i * GN_F_STATUS, &wait->statuses[i]);
	}
	gn_mpi_completed(call, wait->n, wait->requests, is_known ? wait->statuses : NULL,
			 indices ? wait->indices : NULL, n, result);
	free(wait->block);
}

/* It has no error argument, and is not the same in the libraries of all MPIs. */
__attribute__((visibility("default"))) void mpi_pcontrol_(const MPI_Fint *level)
{
	gn_mpi_control(*level);
	gn_next_MPI_Pcontrol(*level);
}

#define GN_F_CONTROL(name)                                                                         \
	__attribute__((visibility("default"), alias("mpi_pcontrol_"))) void name(                  \
		const MPI_Fint *level)
GN_F_CONTROL(mpi_pcontrol);
GN_F_CONTROL(mpi_pcontrol__);
GN_F_CONTROL(MPI_PCONTROL);
GN_F_CONTROL(mpi_pcontrol_f08_);
