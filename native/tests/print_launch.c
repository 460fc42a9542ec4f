/* What native/plugins/launch.c makes of its environment: "task tasks local_task local_tasks", or
 * nothing. */
#include <stdio.h>

/* This folder has a job.h, too. */
#include "../plugins/job.h"

int main(void)
{
	struct hpm_launch launch = {0};

	if (!hpm_launch_find(&launch))
		printf("%d %d %d %d\n", launch.task, launch.tasks, launch.local_task,
		       launch.local_tasks);
	return 0;
}
