/* One group of events for each task, in turn. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* More digits than any job has tasks are no rank. */
#define RANK_DIGITS 9

int ranks_task(void)
{
	/* Open MPI and PRRTE, MPICH and Intel MPI (Hydra), MVAPICH2, Slurm. */
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
						"MV2_COMM_WORLD_RANK", "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);
		const size_t digits = value ? strspn(value, "0123456789") : 0;

		if (digits > 0 && digits <= RANK_DIGITS && !value[digits])
			return atoi(value);
	}
	return -1;
}

/* The next group of the list, without blanks around it; empty ones are none. 0 at the end. */
static int next_group(const char **list, const char **group, size_t *length)
{
	while (**list) {
		const char *start = *list;
		size_t n = strcspn(start, ",");

		*list += n + (start[n] == ',');
		while (n && isspace((unsigned char)*start)) {
			start++;
			n--;
		}
		while (n && isspace((unsigned char)start[n - 1]))
			n--;
		if (!n)
			continue;
		*group = start;
		*length = n;
		return 1;
	}
	return 0;
}

int ranks_distribute(void)
{
	const char *asked = getenv("HPM_EVENT_DISTR");
	const int task = ranks_task();
	const char *at, *group;
	size_t length;
	int n = 0, error;
	char *chosen;

	if (!asked || !*asked)
		asked = getenv("HPM_EVENT_SET");
	if (!asked || task < 0)
		return 0;
	for (at = asked; next_group(&at, &group, &length);)
		n++;
	if (!n)
		return 0;
	at = asked;
	for (int turn = task % n; turn >= 0; turn--)
		next_group(&at, &group, &length);
	chosen = strndup(group, length);
	if (!chosen)
		return ENOMEM;
	error = setenv("HPM_EVENT_SET", chosen, 1) ? errno : 0;
	free(chosen);
	return error;
}
