/* Lists of tasks that stay short however many there are. */
#include <string.h>

#include "group_stats.h"

/* Takes over the range, or counts it where there is no room. */
static void append(struct ranks_tasks *tasks, int first, int last)
{
	if (tasks->n && first <= tasks->last[tasks->n - 1] + 1) {
		if (last > tasks->last[tasks->n - 1])
			tasks->last[tasks->n - 1] = last;
	} else if (tasks->n < RANKS_RANGES) {
		tasks->first[tasks->n] = first;
		tasks->last[tasks->n] = last;
		tasks->n++;
	} else {
		tasks->more += (int64_t)last - first + 1;
	}
}

void ranks_add_tasks(struct ranks_tasks *tasks, const struct ranks_tasks *others)
{
	const struct ranks_tasks before = *tasks;
	int a = 0, b = 0;

	tasks->n = 0;
	tasks->more = before.more + others->more;
	while (a < before.n || b < others->n) {
		if (b == others->n || (a < before.n && before.first[a] < others->first[b])) {
			append(tasks, before.first[a], before.last[a]);
			a++;
		} else {
			append(tasks, others->first[b], others->last[b]);
			b++;
		}
	}
}

void ranks_add_task(struct ranks_tasks *tasks, int task)
{
	const struct ranks_tasks one = {.n = 1, .first = {task}, .last = {task}};

	ranks_add_tasks(tasks, &one);
}

int64_t ranks_count(const struct ranks_tasks *tasks)
{
	int64_t count = tasks->more;

	for (int i = 0; i < tasks->n; i++)
		count += (int64_t)tasks->last[i] - tasks->first[i] + 1;
	return count;
}

int ranks_lowest(const struct ranks_tasks *tasks)
{
	return tasks->n ? tasks->first[0] : -1;
}

int64_t ranks_place(const struct ranks_tasks *tasks, int task)
{
	int64_t place = 0;

	for (int i = 0; i < tasks->n && tasks->first[i] <= task; i++) {
		if (task <= tasks->last[i])
			return place + task - tasks->first[i];
		place += (int64_t)tasks->last[i] - tasks->first[i] + 1;
	}
	return -1;
}

char *ranks_list(struct ranks_arena *arena, const struct ranks_tasks *tasks, int ranges)
{
	char *list = ranks_text(arena, "%s", "");
	int64_t shown = 0;
	const int64_t count = ranks_count(tasks);

	for (int i = 0; list && i < tasks->n && i < ranges; i++) {
		const int first = tasks->first[i], last = tasks->last[i];

		shown += (int64_t)last - first + 1;
		list = last > first + 1
			       ? ranks_text(arena, "%s%s%d-%d", list, i ? "," : "", first, last)
		       : last > first
			       ? ranks_text(arena, "%s%s%d,%d", list, i ? "," : "", first, last)
			       : ranks_text(arena, "%s%s%d", list, i ? "," : "", first);
	}
	if (list && shown < count)
		list = ranks_text(arena, "%s and %lld more", list, (long long)(count - shown));
	return list;
}
