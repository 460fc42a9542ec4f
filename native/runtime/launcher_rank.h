/* Which rank of a job this process is, and of which job, by what its launcher set. */
#ifndef GNOMON_RUNTIME_LAUNCHER_RANK_H
#define GNOMON_RUNTIME_LAUNCHER_RANK_H

struct gn_launch {
	int rank;
	int ranks;
	int local_rank;	 /* rank among those of this node; -1: not known */
	int local_ranks; /* on this node; 0: not known */
	int is_common;	 /* `name` is the same on all nodes */
	char name[17];	 /* of the job, from what is unique to it */
};

/* 0, or -ENODATA: no launcher, or one rank only. */
int gn_launch_find(struct gn_launch *launch);

/* The rank alone; -1: no launcher started this process. */
int gn_launcher_rank(void);

/*
 * The process that started the ranks of this node, or its daemon here: the nearest ancestor that
 * has no rank itself, and when it was started, in clock ticks since boot. 0, -ENODATA without a
 * launcher, or -ESRCH where it cannot be found.
 */
int gn_launcher_process(long *process, unsigned long long *start);

#endif
