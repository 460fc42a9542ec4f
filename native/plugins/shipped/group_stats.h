/*
 * What the plug-ins over tasks share: tasks with equal scenarios are groups, and of each group one
 * task prints what all came to.
 *
 * The scenario of a task is which groups of events it counted, in which order and whether they took
 * turns. Values are kept as sums, extremes and sums of squares, for each section, so that a partial
 * is as large for one task as for all.
 */
#ifndef GNOMON_GROUP_STATS_H
#define GNOMON_GROUP_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "hpm_agg.h"
#include "hpm_tree.h"

/* --- arena.c ---------------------------------------------------------------------------------- */

struct ranks_chunk;

/* Memory that is given back all at once. Zero before. */
struct ranks_arena {
	struct ranks_chunk *chunk;
	int is_full; /* there was no memory */
};

/* n things of so many bytes, zero; NULL: no memory, or more than can be. */
void *ranks_take(struct ranks_arena *arena, size_t n, size_t bytes);
__attribute__((format(printf, 2, 3))) char *ranks_text(struct ranks_arena *arena,
						       const char *format, ...);
/* The old array with room for one more, as n grows by ones; NULL: no memory. */
void *ranks_grow(struct ranks_arena *arena, void *array, int n, size_t bytes);
void ranks_drop(struct ranks_arena *arena);

/* What is at fault is one of these: the number of an errno. */
int ranks_error(const struct ranks_arena *arena);

/* --- rank_set.c ------------------------------------------------------------------------------- */

#define RANKS_RANGES 64

/* Tasks in ranges, the lowest first; only how many is known of what does not fit. */
struct ranks_tasks {
	int n;
	int first[RANKS_RANGES];
	int last[RANKS_RANGES];
	int64_t more;
};

void ranks_add_task(struct ranks_tasks *tasks, int task);
void ranks_add_tasks(struct ranks_tasks *tasks, const struct ranks_tasks *others);
int64_t ranks_count(const struct ranks_tasks *tasks);
int ranks_lowest(const struct ranks_tasks *tasks); /* -1: none */
/* How many of them are lower; -1 if it is none of them, or one of those that are not known. */
int64_t ranks_place(const struct ranks_tasks *tasks, int task);
/* "0-3,7", at most so many ranges, then "and 12 more". */
char *ranks_list(struct ranks_arena *arena, const struct ranks_tasks *tasks, int ranges);

/* --- total_codec.c ---------------------------------------------------------------------------- */

/* One value over tasks. */
struct ranks_number {
	double n;
	double sum;
	double squares; /* of the differences from the mean, added up */
	double minimum;
	double maximum;
	int min_task;
	int max_task;
};

void ranks_number_set(struct ranks_number *number, double value, int task);
void ranks_number_add(struct ranks_number *number, const struct ranks_number *other);
double ranks_mean(const struct ranks_number *number); /* NaN: none */

struct ranks_event {
	char *name;
	char *component;
	char *unit;
	char *description;
	char *reason; /* of the lowest task that has one */
	int reason_task;
	int how; /* the worst */
	int modes;
	int flags;
	int has_modes; /* any task had a value */
	double enabled_s;
	double running_s;
	struct ranks_number value;
	int64_t *bins; /* [n_bins] */
};

struct ranks_item {
	char *key; /* the same on every task */
	char *label;
	char *group;
	char *file;
	char *parent_label;
	int lowest; /* task whose texts these are */
	int place;  /* among the scenario's groups */
	int is_rusage;
	int is_mplex_cont;
	int instr_id;
	int is_exclusive;
	int line;
	int parent_id;
	struct ranks_tasks tasks;
	struct ranks_number count;
	struct ranks_number times[HPM_NTIM];
	int64_t *bins; /* [HPM_NTIM * n_bins] */
	int n_events;
	struct ranks_event *event;
};

enum ranks_state {
	RANKS_NEW,
	RANKS_SETTLED,
	RANKS_SPLIT,  /* by wall time, into those whose paths begin with its path */
	RANKS_UNEVEN, /* its tasks stay apart */
};

struct ranks_group {
	char *scenario;
	char *path; /* a sign for each split: '<', '=' or '>' */
	int state;
	int64_t runs; /* that the values are over, one mean each; 0: over tasks */
	struct ranks_tasks tasks;
	int n_items;
	struct ranks_item *item;
};

/* Beyond so many groups tasks stay apart. */
#define RANKS_GROUPS 64

struct ranks_total {
	int is_binning;
	int n_bins;
	char *note; /* to be said once; "" */
	int n_groups;
	struct ranks_group *group;
	/* Tasks that are in no group, and why: */
	struct ranks_tasks changed; /* their groups of events were changed while they ran */
	struct ranks_tasks uneven;  /* their times differ too much */
	struct ranks_tasks crowded; /* there were too many groups */
};

/* Bytes from malloc(3), and back; texts stay in the arena. 0 or an errno: EBADMSG for bytes that
 * are no total. An empty blob is an empty total. */
int ranks_pack(const struct ranks_total *total, hpm_blob *blob);
int ranks_unpack(struct ranks_arena *arena, const hpm_blob *blob, struct ranks_total *total);

/* --- group_ranks.c ---------------------------------------------------------------------------- */

/* A task's own items as a group of one task. is_changed: they are not comparable. */
int ranks_collect(struct ranks_arena *arena, int task, int n, const hpm_data_item *items,
		  struct ranks_group *group, int *is_changed);

/* Puts a group, of the same scenario and path, or a whole total into another. */
int ranks_merge_group(struct ranks_arena *arena, struct ranks_group *into,
		      struct ranks_group *other, int n_bins);
int ranks_merge_total(struct ranks_arena *arena, struct ranks_total *into,
		      struct ranks_total *other);

struct ranks_item *ranks_item_of(const struct ranks_group *group, const char *key, int hint);
struct ranks_group *ranks_group_of(const struct ranks_total *total, const char *scenario,
				   const char *path);

/* --- statistics_reduction.c ------------------------------------------------------------------- */

enum ranks_value {
	RANKS_MEAN,
	RANKS_MINIMUM,
	RANKS_MAXIMUM,
};

/* What a plug-in is. */
struct ranks_plan {
	const char *word; /* "average" */
	enum ranks_value value;
	int has_deviation;
	int has_imbalance;
	int has_bins;
	int is_even; /* only over tasks with about equal times */
	/* The last thing at the root, or NULL. */
	int (*complete)(struct ranks_arena *arena, struct ranks_total *total);
};

int ranks_partial(const struct ranks_plan *plan, int round, const hpm_blob *shared, int task, int n,
		  hpm_event_vector items, hpm_blob *out);
int ranks_merge(int round, hpm_blob *into, const hpm_blob *other);
int ranks_next(const struct ranks_plan *plan, int round, hpm_blob *total, hpm_blob *shared,
	       int *is_done);

/* The group that a task is in, or is to be in; its path is put into `path`. NULL: none yet. */
#define RANKS_ROUNDS 6
struct ranks_group *ranks_group_for(const struct ranks_total *total, const struct ranks_group *own,
				    char path[RANKS_ROUNDS + 1]);

/* --- group_output.c --------------------------------------------------------------------------- */

/* At most so many tasks that are in no group print; the others are named. */
#define RANKS_APART 16

int ranks_finish(const struct ranks_plan *plan, const hpm_blob *shared, int task, int n,
		 hpm_event_vector items, int *n_out, hpm_event_vector *out, int *is_print_task);

/* --- distribute.c ----------------------------------------------------------------------------- */

/*
 * HPM_EVENT_DISTR, or else HPM_EVENT_SET, has groups between commas: HPM_EVENT_SET becomes the one
 * of them whose turn it is, task after task. 0 or an errno.
 */
int ranks_distribute(void);

/* Everything that a plug-in exports, for its plan. */
#define RANKS_PLUGIN(plan)                                                                         \
	static int partial(int round, const hpm_blob *shared, int task, int n,                     \
			   hpm_event_vector items, hpm_blob *out)                                  \
	{                                                                                          \
		return ranks_partial(&(plan), round, shared, task, n, items, out);                 \
	}                                                                                          \
	static int next(int round, hpm_blob *total, hpm_blob *shared, int *is_done)                \
	{                                                                                          \
		return ranks_next(&(plan), round, total, shared, is_done);                         \
	}                                                                                          \
	static int finish(const hpm_blob *shared, int task, int n, hpm_event_vector items,         \
			  int *n_out, hpm_event_vector *out, int *is_print_task)                   \
	{                                                                                          \
		return ranks_finish(&(plan), shared, task, n, items, n_out, out, is_print_task);   \
	}                                                                                          \
	HPM_PLUGIN extern const hpm_reduction hpm_reduction_of_plugin;                             \
	const hpm_reduction hpm_reduction_of_plugin = {partial, ranks_merge, next, finish};        \
	int distributor(void)                                                                      \
	{                                                                                          \
		return ranks_distribute();                                                         \
	}                                                                                          \
	int aggregator(int num_in, hpm_event_vector in, int *num_out, hpm_event_vector *out,       \
		       int *is_print_task)                                                         \
	{                                                                                          \
		return hpm_reduction_run(&hpm_reduction_of_plugin, num_in, in, num_out, out,       \
					 is_print_task);                                           \
	}

#endif
