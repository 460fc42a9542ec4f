/* Calls every function of mpt.h where its answer is known, and prints the answers as JSON. */
#include <mpi.h>
#include <mpt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int events[64], seen_line, asks_caller;
static char seen_function[128], seen_file[128];

int MT_trace_event(int id)
{
	struct MT_callerstruct caller;
	int rank;

	if (id < 64)
		events[id]++;
	/* What is called here is not counted, and asks nobody. */
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (id == SEND_ID && asks_caller) {
		asks_caller = 0;
		if (!MT_get_callerinfo(MT_get_calleraddress(1), &caller)) {
			seen_line = caller.lineno;
			snprintf(seen_function, sizeof(seen_function), "%s", caller.funcname);
			snprintf(seen_file, sizeof(seen_file), "%s", caller.filename);
		}
	}
	return 1;
}

static __attribute__((noinline)) void send_to_next(int rank, int ranks, int n)
{
	char bytes[1000] = {0};

	if (rank + 1 < ranks)
		MPI_Send(bytes, n, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
	if (rank > 0)
		MPI_Recv(bytes, n, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

enum { LINE_OF_CALL = __LINE__ + 3 };
static __attribute__((noinline)) void caller_of_it(int rank, int ranks)
{
	send_to_next(rank, ranks, 100);
}

static void print_results(const char *name, int type, int id)
{
	struct MT_summarystruct summary;
	int is_whole = type == COUNTS || type == MAXSTACKFUNC, ranks;
	int failed = MT_get_allresults(type, id, &summary);

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	printf("\"%s\": {\"failed\": %d", name, failed);
	if (!failed) {
		printf(", \"ranks\": [%d, %d, %d], \"average\": \"%g\", \"values\": [",
		       summary.min_rank, summary.max_rank, summary.med_rank,
		       *(double *)summary.avg_result);
		for (int i = 0; i < ranks; i++)
			if (is_whole)
				printf("%s\"%lld\"", i ? ", " : "",
				       ((long long *)summary.all_result)[i]);
			else
				printf("%s\"%g\"", i ? ", " : "",
				       ((double *)summary.all_result)[i]);
		printf("], \"sorted\": [");
		for (int i = 0; i < ranks; i++)
			printf("%s%d", i ? ", " : "", summary.sorted_rank[i]);
		if (is_whole)
			printf("], \"sum\": \"%lld\", \"extremes\": [\"%lld\", \"%lld\", \"%lld\"]",
			       *(long long *)summary.sum_result, *(long long *)summary.min_result,
			       *(long long *)summary.max_result, *(long long *)summary.med_result);
		else
			printf("], \"sum\": \"%g\", \"extremes\": [\"%g\", \"%g\", \"%g\"]",
			       *(double *)summary.sum_result, *(double *)summary.min_result,
			       *(double *)summary.max_result, *(double *)summary.med_result);
		free(summary.all_result);
	}
	printf("},\n");
}

int MT_output_text(void)
{
	struct MT_envstruct env;
	struct MT_tracebufferstruct buffer;
	struct MT_memorystruct memory;
	int on_stack, has_buffer, has_memory = MT_get_memoryinfo(&memory);

	MT_get_environment(&env);
	memset(&buffer, 1, sizeof(buffer));
	has_buffer = MT_get_tracebufferinfo(&buffer);
	printf("{\"environment\": [%d, %d, %d, %d, %d, %d, %d, %d, %d],\n", env.mpirank, env.xCoord,
	       env.yCoord, env.zCoord, env.xSize, env.ySize, env.zSize, env.procid, env.ntasks);
	printf("\"clock\": %g, \"ids\": %d,\n", env.clockHz, env.nmpi);
	printf("\"sends\": %lld, \"bytes\": %g, \"time\": %d, \"none\": %lld,\n",
	       MT_get_mpi_counts(SEND_ID), MT_get_mpi_bytes(SEND_ID), MT_get_mpi_time(SEND_ID) > 0,
	       MT_get_mpi_counts(100000));
	printf("\"comm_rank\": %lld, \"hops\": \"%g\",\n", MT_get_mpi_counts(COMM_RANK_ID),
	       MT_get_avg_hops());
	printf("\"names\": [\"%s\", \"%s\", %d],\n", MT_get_mpi_name(SEND_ID),
	       MT_get_mpi_name(MT_IALLREDUCE_ID), MT_get_mpi_name(-1) == NULL);
	printf("\"times\": %d,\n",
	       MT_get_time() >= MT_get_elapsed_time() && MT_get_elapsed_time() > 0);
	printf("\"buffer\": [%d, %d, %g, %g, %g],\n", has_buffer, buffer.number_events,
	       buffer.total_buffer, buffer.used_buffer, buffer.free_buffer);
	printf("\"memory\": [%d, %d, %d],\n", has_memory,
	       (unsigned long)&on_stack >= memory.min_stack_address,
	       (unsigned long)&on_stack < memory.max_stack_address);
	printf("\"events\": [%d, %d],\n", events[SEND_ID], events[RECV_ID]);
	printf("\"caller\": [\"%s\", \"%s\", %d],\n", seen_function, seen_file,
	       seen_line - LINE_OF_CALL);
	print_results("COUNTS", COUNTS, SEND_ID);
	print_results("BYTES", BYTES, SEND_ID);
	print_results("COMMUNICATIONTIME", COMMUNICATIONTIME, ALLMPI_ID);
	print_results("STACK", STACK, ALLMPI_ID);
	print_results("HEAP", HEAP, ALLMPI_ID);
	print_results("MAXSTACKFUNC", MAXSTACKFUNC, ALLMPI_ID);
	print_results("ELAPSEDTIME", ELAPSEDTIME, ALLMPI_ID);
	print_results("AVGHOPS", AVGHOPS, ALLMPI_ID);
	print_results("no type", 99, ALLMPI_ID);
	printf("\"end\": 0}\n");
	return 0;
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	asks_caller = 1;
	caller_of_it(rank, ranks);
	send_to_next(rank, ranks, 1000);
	MPI_Finalize();
	return 0;
}
