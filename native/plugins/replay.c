/* The same reduction as over the tasks of a job, in the same order, over the files they left. */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "rank_tree.h"
#include "reduction.h"

#define TASKS_MAX (1 << 24)

struct rank {
	const char *path; /* NULL: none was given */
	int is_out;
	char why[64]; /* of its end; "" */
};

struct replay {
	const hpm_reduction *reduction;
	int tasks;
	struct rank *rank;
	int round;
	hpm_blob shared;
	struct gn_gaps gaps;
	char *why;
	int failed;
};

static int said(struct replay *replay, int error, const char *path, const char *what)
{
	snprintf(replay->why, HPM_REPLAY_WHY, "%.700s: %.250s", path, what);
	replay->failed = error;
	return error;
}

void hpm_outcome(const struct hpm_items *items, char *outcome, size_t size)
{
	const char *name = items->signal ? sigabbrev_np(items->signal) : NULL;

	*outcome = 0;
	if (items->signal && name)
		snprintf(outcome, size, "killed by SIG%s", name);
	else if (items->signal)
		snprintf(outcome, size, "killed by signal %d", items->signal);
	else if (items->exit_status > 0)
		snprintf(outcome, size, "status %d", items->exit_status);
}

/* --- which files there are -------------------------------------------------------------------- */

/* Takes one file in; those of no job are numbered as they come. */
static int add_file(struct replay *replay, const char *path, int *numbered)
{
	struct hpm_items items;
	struct rank *rank;
	char why[256], outcome[64];
	int task, tasks;

	if (hpm_items_load(path, &items, why)) {
		hpm_items_release(&items);
		return said(replay, EBADMSG, path, why);
	}
	task = items.task >= 0 ? items.task : (*numbered)++;
	tasks = items.tasks > task ? items.tasks : task + 1;
	hpm_outcome(&items, outcome, sizeof(outcome));
	setenv("HPM_AGGREGATE_PROGRAM", items.program ? items.program : "", 1);
	hpm_items_release(&items);
	if (tasks > TASKS_MAX)
		return said(replay, EBADMSG, path, "more tasks than any job has");
	if (tasks > replay->tasks) {
		rank = realloc(replay->rank, (size_t)tasks * sizeof(*rank));
		if (!rank)
			return said(replay, ENOMEM, path, "no memory for its tasks");
		memset(rank + replay->tasks, 0, (size_t)(tasks - replay->tasks) * sizeof(*rank));
		replay->rank = rank;
		replay->tasks = tasks;
	}
	rank = &replay->rank[task];
	if (rank->path) {
		snprintf(why, sizeof(why), "is of task %d, and so is %.200s", task, rank->path);
		return said(replay, EEXIST, path, why);
	}
	rank->path = path;
	rank->is_out = !strncmp(outcome, "killed", 6);
	if (rank->is_out)
		snprintf(rank->why, sizeof(rank->why), "was %.50s", outcome);
	else if (*outcome)
		snprintf(rank->why, sizeof(rank->why), "ended with exit %.40s", outcome);
	return 0;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int merge(hpm_blob *into, const hpm_blob *other, void *context)
{
	const struct replay *replay = context;

	return replay->reduction->merge(replay->round, into, other);
}

/* What a task would send of its own. */
static void load_own(struct replay *replay, int task, struct gn_message *load)
{
	struct rank *rank = &replay->rank[task];
	struct hpm_items items;
	char why[256];
	int failed;

	if (!rank->is_out) {
		if (hpm_items_load(rank->path, &items, why)) {
			said(replay, EBADMSG, rank->path, why);
			hpm_items_release(&items);
			return;
		}
		failed = replay->reduction->partial(replay->round, &replay->shared, task, items.n,
						    items.item, &load->blob);
		hpm_items_release(&items);
		load->has_blob = !failed;
		if (failed) {
			rank->is_out = 1;
			snprintf(rank->why, sizeof(rank->why), "could not be aggregated: %.36s",
				 failed > 0 ? strerror(failed) : "partial failed");
			free(load->blob.data);
			load->blob = (hpm_blob){NULL, 0};
		}
	}
	if (*rank->why)
		gn_gaps_add(&load->gaps, task, task, !rank->is_out, rank->why);
}

static void collect(struct replay *replay, int task, struct gn_message *into)
{
	const struct gn_merging merging = {merge, replay, HPM_NOT_MERGED};
	struct gn_message *load = into, *below = NULL;

	if (replay->failed)
		return;
	if (replay->rank[task].path) {
		below = calloc(1, sizeof(*below));
		if (!below) {
			said(replay, ENOMEM, replay->rank[task].path, "no memory for a partial");
			return;
		}
		load = below;
		load_own(replay, task, load);
	} else {
		gn_gaps_add(&into->gaps, task, task, 0, "left no file that was given");
	}
	for (int i = 1; i <= GN_TREE_FANOUT; i++) {
		const int64_t child = (int64_t)task * GN_TREE_FANOUT + i;

		if (child >= replay->tasks)
			break;
		collect(replay, (int)child, load);
	}
	if (below)
		gn_message_merge(into, below, task, &merging);
	free(below);
}

static int one_round(struct replay *replay, int *is_done)
{
	struct gn_message total = {0};
	int failed;

	collect(replay, 0, &total);
	if (replay->failed) {
		gn_message_free(&total);
		return replay->failed;
	}
	replay->gaps = total.gaps;
	failed = replay->reduction->next(replay->round, &total.blob, &replay->shared, is_done);
	gn_message_free(&total);
	if (failed)
		said(replay, failed > 0 ? failed : EINVAL, "the aggregator failed",
		     failed > 0 ? strerror(failed) : "next returned a negative number");
	return replay->failed;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int print_task(struct replay *replay, int task,
		      int (*print)(const struct hpm_items *items, char *why))
{
	const struct rank *rank = &replay->rank[task];
	hpm_gap gaps[GN_GAPS_MAX];
	struct hpm_items items, printed;
	hpm_event_vector out = NULL;
	int n_out = 0, is_print_task = 1, failed;
	char why[256], line[128];

	if (hpm_items_load(rank->path, &items, why)) {
		hpm_items_release(&items);
		return said(replay, EBADMSG, rank->path, why);
	}
	if (rank->is_out) {
		snprintf(line, sizeof(line), "task %d by itself: it %s", task, rank->why);
		failed = hpm_own_items(items.n, items.item, line, &n_out, &out, &is_print_task);
	} else {
		failed = replay->reduction->finish(&replay->shared, task, items.n, items.item,
						   &n_out, &out, &is_print_task);
	}
	if (failed)
		said(replay, failed > 0 ? failed : EINVAL, "the aggregator failed",
		     failed > 0 ? strerror(failed) : "finish returned a negative number");
	if (!failed && is_print_task && hpm_items_check(n_out, out, why))
		failed = said(replay, EFAULT, "the aggregator returned invalid data", why);
	if (!failed && is_print_task) {
		const int n_gaps = gn_gaps_list(&replay->gaps, gaps);

		if (!rank->is_out && n_out)
			hpm_gaps_tell(gaps, n_gaps, n_out, out);
		printed = items;
		printed.n = n_out;
		printed.item = out;
		failed = print(&printed, replay->why);
		replay->failed = failed;
	}
	/* What a plug-in gives is its own, and stays. */
	if (rank->is_out)
		free(out);
	hpm_items_release(&items);
	return failed;
}

int hpm_replay(const hpm_reduction *reduction, int n_files, char *const *path,
	       int (*print)(const struct hpm_items *items, char *why), char why[HPM_REPLAY_WHY])
{
	struct replay replay = {.reduction = reduction, .why = why};
	int numbered = 0, is_done = 0;

	for (int i = 0; !replay.failed && i < n_files; i++)
		add_file(&replay, path[i], &numbered);
	while (!replay.failed && !is_done && replay.round < HPM_ROUNDS_MAX) {
		one_round(&replay, &is_done);
		replay.round++;
	}
	if (!replay.failed && !is_done)
		said(&replay, EINVAL, "the aggregator failed", "it comes to no end");
	for (int task = 0; !replay.failed && task < replay.tasks; task++)
		if (replay.rank[task].path)
			print_task(&replay, task, print);
	free(replay.shared.data);
	free(replay.rank);
	return replay.failed;
}
