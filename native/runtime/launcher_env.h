/* The variables of launchers; gnomon/launch/job.py has the same. */
#ifndef GNOMON_RUNTIME_LAUNCHER_ENV_H
#define GNOMON_RUNTIME_LAUNCHER_ENV_H

struct gn_launcher {
	const char *rank, *ranks, *local_rank, *local_ranks, *nodes;
};

/*
 * The first whose rank is there is believed. Slurm comes last: within its jobs others start ranks,
 * too, and then its numbers are those of the launcher's daemons.
 */
#define GN_LAUNCHERS 5
#define GN_LAUNCHER_SLURM (GN_LAUNCHERS - 1)
extern const struct gn_launcher gn_launchers[GN_LAUNCHERS];

/* The one that started this rank, and its rank; NULL and -1 where none did. */
const struct gn_launcher *gn_launcher_find(long *rank);

/* The whole number that a variable has, -1 if it has none. */
long gn_launcher_number(const char *name);

#endif
