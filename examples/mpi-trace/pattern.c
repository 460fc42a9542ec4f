/*
 * Example 4-10: what a program does in its steps is compared with what it did in the step before;
 * once nothing new comes, nothing more has to be traced. Ranks below 32 write their files.
 */
#include <mpt.h>
#include <stdio.h>
#include <string.h>

/* A step of the program ends with this routine. */
#define STEP_ENDS_WITH ALLREDUCE_ID
#define IDS 46

static long long before[IDS], last_step[IDS];
static int is_repeated;

/* Calls of each routine since the step before. */
static void count_step(long long *step)
{
	for (int id = 1; id < IDS; id++) {
		const long long now = MT_get_mpi_counts(id);

		step[id] = now - before[id];
		before[id] = now;
	}
}

int MT_trace_event(int id)
{
	long long step[IDS] = {0};
	struct MT_envstruct env;

	if (id != STEP_ENDS_WITH || is_repeated)
		return !is_repeated;
	MT_get_environment(&env);
	count_step(step);
	is_repeated = !memcmp(step, last_step, sizeof(step));
	memcpy(last_step, step, sizeof(step));
	if (is_repeated && env.mpirank == 0)
		printf("the pattern of %lld calls of %s repeats itself\n", step[SEND_ID],
		       MT_get_mpi_name(SEND_ID));
	return !is_repeated; /* 0: stop tracing */
}

int MT_output_trace(int rank)
{
	return rank < 32;
}
