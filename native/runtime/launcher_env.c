/* Which rank of its job this process is, by what launchers set. */
#include "launcher_env.h"

#include <stdlib.h>
#include <string.h>

/* More digits than any job has ranks are no rank. */
#define DIGITS 9

const struct gn_launcher gn_launchers[GN_LAUNCHERS] = {
	/* Open MPI, IBM Spectrum MPI, PRRTE */
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_orte_num_nodes"},
	{"PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", NULL},
	/* MPICH, Intel MPI and MVAPICH by Hydra */
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL},
	/* MVAPICH2 by mpirun_rsh */
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
	 "MV2_COMM_WORLD_LOCAL_SIZE", NULL},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_STEP_NUM_NODES"},
};

long gn_launcher_number(const char *name)
{
	const char *value = name ? getenv(name) : NULL;
	const size_t digits = value ? strspn(value, "0123456789") : 0;

	return digits > 0 && digits <= DIGITS && !value[digits] ? strtol(value, NULL, 10) : -1;
}

const struct gn_launcher *gn_launcher_find(long *rank)
{
	for (int i = 0; i < GN_LAUNCHERS; i++) {
		const struct gn_launcher *launcher = &gn_launchers[i];

		*rank = gn_launcher_number(launcher->rank);
		/* A batch script of Slurm has a rank and is no rank: it has no step. */
		if (*rank >= 0 &&
		    (i != GN_LAUNCHER_SLURM || gn_launcher_number(launcher->ranks) >= 0))
			return launcher;
	}
	*rank = -1;
	return NULL;
}
