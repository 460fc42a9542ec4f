/* The variables of launchers, and what they say of a rank. */
#ifndef GNOMON_RUNTIME_LAUNCHER_ENV_H
#define GNOMON_RUNTIME_LAUNCHER_ENV_H

/* The value of a variable until the next call, NULL where it is not set. */
typedef const char *gn_variable(const char *name, void *context);

/* Where a rank is in its job; -1: the launcher does not tell. */
struct gn_rank_place {
	long rank; /* in MPI_COMM_WORLD */
	long ranks;
	long local_rank;      /* among the ranks of its node */
	long local_ranks;     /* on its node */
	long nodes;	      /* that have ranks of the job */
	const char *variable; /* that has the rank */
};

/* 0, or -ENODATA: no launcher has set a rank. */
int gn_rank_place_find(gn_variable *variable, void *context, struct gn_rank_place *place);

/* Of this process. */
int gn_rank_place_here(struct gn_rank_place *place);

#endif
