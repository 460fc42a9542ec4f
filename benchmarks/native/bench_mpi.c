/*
 * What a profiler of MPI adds to calls: `bench_mpi BLOCKS`, under one that is preloaded, on one
 * rank or two. Blocks of calls by MPI_x, by PMPI_x and by two floors take turns; what is compared
 * is the 5th percentile of each, which what others do on the machine does not reach.
 *
 * A line for each subject: its name, how many calls of the profiled kind are in it, and nanoseconds
 * of PMPI_x, MPI_x, a profile by routine and size, the same with a cache of call sites. On more
 * ranks, what MPI_Finalize takes after some calls, in milliseconds. Each line begins with "= ", as
 * a profiler may print others.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "now.h"

/* Not made to measure for their calls either. */
#define NOINLINE __attribute__((noipa))
/* Short blocks, so that few are interrupted. */
#define CALLS 64
#define BLOCKS_MAX 100000
#define ROUTINES 16
#define CLASSES 65
#define SITES 1024u

enum { PMPI, MPI, PROFILE, PROFILE_OF_SITES, WAYS };

static int rank, other, n_ranks;
static char out[8], in[8];
static double first_call, plain_call;

/* --- floors: the least that tells a profile, and one with call sites ------------------------- */

struct sums {
	uint64_t calls, bytes, ticks;
};

static __thread struct sums by_size[ROUTINES][CLASSES];
static __thread struct {
	uintptr_t caller, frame;
	struct sums sums;
} by_site[SITES];

static inline void add(struct sums *sums, int64_t bytes, uint64_t ticks)
{
	sums->calls++;
	sums->bytes += (uint64_t)bytes;
	sums->ticks += ticks;
}

static inline void add_size(int routine, int64_t bytes, uint64_t ticks)
{
	add(&by_size[routine][bytes ? 64 - __builtin_clzll((uint64_t)bytes) : 0], bytes, ticks);
}

static inline void add_site(uintptr_t caller, uintptr_t frame, int64_t bytes, uint64_t ticks)
{
	uint32_t i = (uint32_t)(((caller ^ frame >> 4) * 0x9e3779b97f4a7c15u) >> 32) % SITES;

	while (by_site[i].caller && (by_site[i].caller != caller || by_site[i].frame != frame))
		i = (i + 1) % SITES;
	by_site[i].caller = caller;
	by_site[i].frame = frame;
	add(&by_site[i].sums, bytes, ticks);
}

static inline int64_t bytes_of(int count, MPI_Datatype type)
{
	int size = 0;

	PMPI_Type_size(type, &size);
	return (int64_t)count * size;
}

/* A routine as both floors have it. */
#define FLOOR(number, name, parameters, arguments, bytes)                                          \
	static NOINLINE int PROFILE_##name parameters                                              \
	{                                                                                          \
		const uint64_t begin = __rdtsc();                                                  \
		const int result = PMPI_##name arguments;                                          \
                                                                                                   \
		add_size(number, bytes, __rdtsc() - begin);                                        \
		return result;                                                                     \
	}                                                                                          \
                                                                                                   \
	static NOINLINE int SITES_##name parameters                                                \
	{                                                                                          \
		const uint64_t begin = __rdtsc();                                                  \
		const int result = PMPI_##name arguments;                                          \
		const uint64_t ticks = __rdtsc() - begin;                                          \
                                                                                                   \
		add_size(number, bytes, ticks);                                                    \
		add_site((uintptr_t)__builtin_return_address(0),                                   \
			 (uintptr_t)__builtin_frame_address(0), bytes, ticks);                     \
		return result;                                                                     \
	}

FLOOR(0, Comm_rank, (MPI_Comm comm, int *answer), (comm, answer), 0)
FLOOR(1, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
      (source, tag, comm, flag, status), 0)
FLOOR(2, Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), 0)
FLOOR(3, Send, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),
      (data, n, type, to, tag, comm), bytes_of(n, type))
FLOOR(4, Recv,
      (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),
      (data, n, type, from, tag, comm, status), bytes_of(n, type))
FLOOR(5, Irecv,
      (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
       MPI_Request *request),
      (data, n, type, from, tag, comm, request), 0)
FLOOR(6, Isend,
      (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
       MPI_Request *request),
      (data, n, type, to, tag, comm, request), bytes_of(n, type))
FLOOR(7, Wait, (MPI_Request * request, MPI_Status *status), (request, status), 0)
FLOOR(8, Waitall, (int n, MPI_Request *requests, MPI_Status *statuses), (n, requests, statuses), 0)
FLOOR(9, Allreduce,
      (const void *data, void *sum, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (data, sum, n, type, op, comm), bytes_of(n, type))

/* --- subjects -------------------------------------------------------------------------------- */

#define WORLD MPI_COMM_WORLD
#define IGNORED MPI_STATUS_IGNORE

static MPI_Request pending, request[2];
static int answer;

#define COMM_RANK(x) x##Comm_rank(WORLD, &answer)
#define IPROBE(x) x##Iprobe(rank, 7, WORLD, &answer, IGNORED)
#define TEST(x) x##Test(&pending, &answer, IGNORED)
/* What is not profiled calls PMPI_x in each way. */
#define SEND(x)                                                                                    \
	(PMPI_Irecv(in, 8, MPI_BYTE, rank, 0, WORLD, request),                                     \
	 x##Send(out, 8, MPI_BYTE, rank, 0, WORLD), PMPI_Wait(request, IGNORED))
#define IRECV_WAIT(x)                                                                              \
	(x##Irecv(in, 8, MPI_BYTE, rank, 0, WORLD, request),                                       \
	 PMPI_Send(out, 8, MPI_BYTE, rank, 0, WORLD), x##Wait(request, IGNORED))
#define ISEND_WAIT(x)                                                                              \
	(x##Isend(out, 8, MPI_BYTE, rank, 0, WORLD, request),                                      \
	 PMPI_Recv(in, 8, MPI_BYTE, rank, 0, WORLD, IGNORED), x##Wait(request, IGNORED))
#define IRECV_TEST(x)                                                                              \
	(x##Irecv(in, 8, MPI_BYTE, rank, 0, WORLD, request),                                       \
	 PMPI_Send(out, 8, MPI_BYTE, rank, 0, WORLD), x##Test(request, &answer, IGNORED))
#define WAITALL(x)                                                                                 \
	(x##Irecv(in, 8, MPI_BYTE, rank, 0, WORLD, request),                                       \
	 x##Isend(out, 8, MPI_BYTE, rank, 0, WORLD, request + 1),                                  \
	 x##Waitall(2, request, MPI_STATUSES_IGNORE))
#define ALL(x)                                                                                     \
	(x##Irecv(in, 8, MPI_BYTE, rank, 0, WORLD, request),                                       \
	 x##Send(out, 8, MPI_BYTE, rank, 0, WORLD), x##Wait(request, IGNORED))
#define ALLREDUCE(x) x##Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, WORLD)
#define PING_PONG(x)                                                                               \
	(rank ? (x##Recv(in, 8, MPI_BYTE, other, 0, WORLD, IGNORED),                               \
		 x##Send(out, 8, MPI_BYTE, other, 0, WORLD))                                       \
	      : (x##Send(out, 8, MPI_BYTE, other, 0, WORLD),                                       \
		 x##Recv(in, 8, MPI_BYTE, other, 0, WORLD, IGNORED)))

#define WAY(subject, way)                                                                          \
	static NOINLINE void subject##_##way(void)                                                 \
	{                                                                                          \
		for (int i = 0; i < CALLS; i++)                                                    \
			subject(way##_);                                                           \
	}
#define SUBJECT(subject)                                                                           \
	WAY(subject, PMPI) WAY(subject, MPI) WAY(subject, PROFILE) WAY(subject, SITES)
#define WAYS_OF(subject) {subject##_PMPI, subject##_MPI, subject##_PROFILE, subject##_SITES}

SUBJECT(COMM_RANK)
SUBJECT(IPROBE)
SUBJECT(TEST)
SUBJECT(SEND)
SUBJECT(IRECV_WAIT)
SUBJECT(ISEND_WAIT)
SUBJECT(IRECV_TEST)
SUBJECT(WAITALL)
SUBJECT(ALL)
SUBJECT(ALLREDUCE)
SUBJECT(PING_PONG)

/* Operations with a request count as one, with their completion. */
static const struct subject {
	const char *name;
	int n_calls, is_of_two;
	void (*block[WAYS])(void);
} subjects[] = {
	{"Comm_rank", 1, 0, WAYS_OF(COMM_RANK)},
	{"Iprobe", 1, 0, WAYS_OF(IPROBE)},
	{"Test", 1, 0, WAYS_OF(TEST)},
	{"Send-to-self", 1, 0, WAYS_OF(SEND)},
	{"Irecv+Wait", 1, 0, WAYS_OF(IRECV_WAIT)},
	{"Isend+Wait", 1, 0, WAYS_OF(ISEND_WAIT)},
	{"Irecv+Test", 1, 0, WAYS_OF(IRECV_TEST)},
	{"Irecv+Isend+Waitall", 2, 0, WAYS_OF(WAITALL)},
	{"Irecv+Send+Wait", 1, 0, WAYS_OF(ALL)},
	{"Allreduce", 1, 0, WAYS_OF(ALLREDUCE)},
	{"Allreduce-of-2", 1, 1, WAYS_OF(ALLREDUCE)},
	{"ping-pong", 2, 1, WAYS_OF(PING_PONG)},
};

/* --- measuring: from as deep as programs call ------------------------------------------------- */

#define DEEPER(name, callee)                                                                       \
	static NOINLINE void name(void (*block)(void))                                             \
	{                                                                                          \
		callee(block);                                                                     \
		__asm__ volatile("" ::: "memory");                                                 \
	}

static NOINLINE void call(void (*block)(void))
{
	block();
	__asm__ volatile("" ::: "memory");
}

DEEPER(exchange, call)
DEEPER(sweep, exchange)
DEEPER(solve, sweep)
DEEPER(step, solve)

static int ascending(const void *a, const void *b)
{
	const double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

static void measure(const struct subject *subject, int n_blocks, double *took)
{
	double percentile[WAYS];

	for (int i = 0; i < n_blocks; i++) {
		for (int way = 0; way < WAYS; way++) {
			const double begin = now_ns();

			step(subject->block[way]);
			took[way * n_blocks + i] = now_ns() - begin;
		}
	}
	for (int way = 0; way < WAYS; way++) {
		qsort(took + way * n_blocks, (size_t)n_blocks, sizeof(*took), ascending);
		percentile[way] = took[way * n_blocks + n_blocks / 20] / CALLS;
	}
	if (!rank)
		printf("= %s %d %.2f %.2f %.2f %.2f\n", subject->name, subject->n_calls,
		       percentile[PMPI], percentile[MPI], percentile[PROFILE],
		       percentile[PROFILE_OF_SITES]);
}

/* It happens once, so that a clock would tell what others do meanwhile. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* MPI need not be up for it. */
static void measure_first_call(void)
{
	const double begin = cpu_ns();

	MPI_Initialized(&answer);
	first_call = cpu_ns() - begin;
	PMPI_Initialized(&answer);
	plain_call = cpu_ns() - begin - first_call;
}

static void measure_finalize(void)
{
	double took;

	for (int i = 0; i < CALLS; i++)
		ALLREDUCE(MPI_);
	PMPI_Barrier(WORLD);
	took = now_ns();
	MPI_Finalize();
	if (!rank)
		printf("= %.3f\n", 1e-6 * (now_ns() - took));
}

int main(int n_arguments, char **argument)
{
	const int n_blocks = n_arguments == 2 ? atoi(argument[1]) : 0;
	double *took;

	if (n_blocks < 20 || n_blocks > BLOCKS_MAX)
		return 2;
	took = malloc((size_t)n_blocks * WAYS * sizeof(*took));
	measure_first_call();
	MPI_Init(NULL, NULL);
	PMPI_Comm_rank(WORLD, &rank);
	PMPI_Comm_size(WORLD, &n_ranks);
	other = !rank;
	if (!took)
		PMPI_Abort(WORLD, 2);
	if (n_ranks > 2) {
		measure_finalize();
		return 0;
	}
	PMPI_Irecv(&answer, 1, MPI_INT, rank, 99, WORLD, &pending);
	if (n_ranks == 1)
		printf("= first-call 1 %.0f %.0f %.0f %.0f\n", plain_call, first_call, plain_call,
		       plain_call);
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		if (subjects[i].is_of_two == (n_ranks == 2))
			measure(&subjects[i], n_blocks, took);
	PMPI_Cancel(&pending);
	PMPI_Wait(&pending, IGNORED);
	free(took);
	MPI_Finalize();
	return 0;
}
