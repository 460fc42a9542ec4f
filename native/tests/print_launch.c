/*
 * What native/plugins/launch.c makes of its environment: the task, -1 for none, and on a second
 * line "task tasks local_task local_tasks", or nothing.
 */
#include <stdio.h>

#include <gnomon/hpm_tree.h>

/* This folder has a job.h, too. */
#include "../plugins/job.h"

int main(void)
{
	struct hpm_launch launch = {0};

	printf("%d\n", hpm_job_task());
	if (!hpm_launch_find(&launch))
		printf("%d %d %d %d\n", launch.task, launch.tasks, launch.local_task,
		       launch.local_tasks);
	return 0;
}
