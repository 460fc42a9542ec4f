/*
 * What native/runtime/launcher_rank.c makes of its environment: the task, -1 for none, and on a
 * second line "task tasks local_task local_tasks", or nothing.
 */
#include <stdio.h>

#include "launcher_rank.h"

int main(void)
{
	struct gn_launch launch = {0};

	printf("%d\n", gn_launcher_rank());
	if (!gn_launch_find(&launch))
		printf("%d %d %d %d\n", launch.rank, launch.ranks, launch.local_rank,
		       launch.local_ranks);
	return 0;
}
