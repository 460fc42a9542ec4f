/* One group of events for each task, in turn. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

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
	const int task = hpm_job_task();
	const char *next, *group;
	size_t length;
	int n = 0, error;
	char *chosen;

	if (!asked || !*asked)
		asked = getenv("HPM_EVENT_SET");
	if (!asked || task < 0)
		return 0;
	for (next = asked; next_group(&next, &group, &length);)
		n++;
	if (!n)
		return 0;
	next = asked;
	for (int turn = task % n; turn >= 0; turn--)
		next_group(&next, &group, &length);
	chosen = strndup(group, length);
	if (!chosen)
		return ENOMEM;
	error = setenv("HPM_EVENT_SET", chosen, 1) ? errno : 0;
	free(chosen);
	return error;
}
