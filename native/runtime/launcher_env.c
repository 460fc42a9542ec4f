/*
 * The variables of launchers, and what they say of a rank. Nothing here asks MPI: distributors run
 * before MPI_Init.
 *
 * Sources: Open MPI 4.1, mpirun(1), "Exported Environment Variables"; Hydra's and MVAPICH2's as
 * their processes get them; Slurm, srun(1), "OUTPUT ENVIRONMENT VARIABLES".
 */
#include "launcher_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More digits than any job has ranks are no rank. */
#define DIGITS 9

struct launcher {
	const char *rank, *ranks, *local_rank, *local_ranks, *nodes;
};

/*
 * The first whose rank is there is believed. Slurm comes last: within its jobs others start ranks,
 * too, and then its numbers are those of the step that the launcher's own daemons are.
 */
static const struct launcher launchers[] = {
	/* Open MPI, IBM Spectrum MPI, PRRTE */
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_orte_num_nodes"},
	/* PMIx of whatever launcher; PMIx itself puts only the rank into the environment */
	{"PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", NULL},
	/* MPICH, Intel MPI and MVAPICH by Hydra */
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL},
	/* MVAPICH2 by mpirun_rsh */
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
	 "MV2_COMM_WORLD_LOCAL_SIZE", NULL},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_NUM_NODES"},
};
#define LAUNCHERS (sizeof(launchers) / sizeof(*launchers))

static const struct launcher *const slurm = &launchers[LAUNCHERS - 1];

struct environment {
	gn_variable *value;
	void *context;
};

/* The whole number that a variable has, -1 if it has none. */
static long number_of(const struct environment *from, const char *name)
{
	const char *value = name ? from->value(name, from->context) : NULL;
	const size_t digits = value ? strspn(value, "0123456789") : 0;

	return digits > 0 && digits <= DIGITS && !value[digits] ? strtol(value, NULL, 10) : -1;
}

/* The launcher that has given a rank; NULL where none has. */
static const struct launcher *find_launcher(const struct environment *from, long *rank)
{
	for (size_t i = 0; i < LAUNCHERS; i++) {
		const struct launcher *launcher = &launchers[i];

		*rank = number_of(from, launcher->rank);
		/* A batch script of Slurm has a rank and is no rank: only srun sets a step's size.
		 */
		if (*rank >= 0 && (launcher != slurm || number_of(from, launcher->ranks) >= 0))
			return launcher;
	}
	return NULL;
}

/* What contradicts the rank, such as a size of 2 for rank 5, is not known. */
static struct gn_rank_place place_by(const struct environment *from,
				     const struct launcher *launcher, long rank)
{
	struct gn_rank_place place = {
		.rank = rank,
		.ranks = number_of(from, launcher->ranks),
		.local_rank = number_of(from, launcher->local_rank),
		.local_ranks = number_of(from, launcher->local_ranks),
		.nodes = number_of(from, launcher->nodes),
		.variable = launcher->rank,
	};

	if (place.ranks <= rank)
		place.ranks = -1;
	if (place.local_ranks == 0 || (place.ranks > 0 && place.local_ranks > place.ranks))
		place.local_ranks = -1;
	if (place.local_rank > rank ||
	    (place.local_ranks > 0 && place.local_rank >= place.local_ranks))
		place.local_rank = -1;
	if (place.nodes == 0)
		place.nodes = -1;
	return place;
}

/* srun as the launcher of another's ranks (srun --mpi=pmix), told by its numbers being the same. */
static void complete(const struct environment *from, struct gn_rank_place *place)
{
	struct gn_rank_place step;
	const long ranks = number_of(from, slurm->ranks);

	if (ranks < 0 || (place->ranks >= 0 && place->ranks != ranks) ||
	    number_of(from, slurm->rank) != place->rank)
		return;
	step = place_by(from, slurm, place->rank);
	if (place->ranks < 0)
		place->ranks = step.ranks;
	if (place->local_rank < 0)
		place->local_rank = step.local_rank;
	if (place->nodes < 0)
		place->nodes = step.nodes;
}

/* A launcher's number of nodes is that of what it was given, of which a small job uses one. */
static void settle_nodes(struct gn_rank_place *place)
{
	if (place->local_ranks < 0 && place->nodes == 1)
		place->local_ranks = place->ranks;
	if (place->ranks < 0 || place->local_ranks < 0)
		return;
	if (place->local_ranks == place->ranks)
		place->nodes = 1;
	else if (place->nodes == 1)
		place->nodes = -1;
}

int gn_rank_place_find(gn_variable *variable, void *context, struct gn_rank_place *place)
{
	const struct environment from = {variable, context};
	long rank;
	const struct launcher *launcher = find_launcher(&from, &rank);

	if (!launcher)
		return -ENODATA;
	*place = place_by(&from, launcher, rank);
	complete(&from, place);
	settle_nodes(place);
	return 0;
}

static const char *own_variable(const char *name, void *context)
{
	(void)context;
	return getenv(name);
}

int gn_rank_place_here(struct gn_rank_place *place)
{
	return gn_rank_place_find(own_variable, NULL, place);
}
