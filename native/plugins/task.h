/* The variables of launchers; gnomon/launch/job.py has the same. */
#ifndef GNOMON_PLUGINS_TASK_H
#define GNOMON_PLUGINS_TASK_H

struct hpm_launcher {
	const char *task, *tasks, *local_task, *local_tasks, *nodes;
};

/*
 * The first whose rank is there is believed. Slurm comes last: within its jobs others start tasks,
 * too, and then its numbers are those of the launcher's daemons.
 */
#define HPM_LAUNCHERS 5
#define HPM_SLURM (HPM_LAUNCHERS - 1)
extern const struct hpm_launcher hpm_launchers[HPM_LAUNCHERS];

/* The one that started this task, and its rank; NULL and -1 where none did. */
const struct hpm_launcher *hpm_launcher_find(long *task);

/* The whole number that a variable has, -1 if it has none. */
long hpm_launcher_number(const char *name);

#endif
