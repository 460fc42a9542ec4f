/* From a task's items to a group of one task, and from groups to one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group_stats.h"

/* What libhpm has where HPM_NUM_INST_PTS is not set. */
#define SECTIONS_USUAL 1000

static char *copied(struct ranks_arena *arena, const char *text)
{
	return ranks_text(arena, "%s", text ? text : "");
}

/* --- what tasks have in common ---------------------------------------------------------------- */

/* The item's group of events as one word. */
static char *signature_of(struct ranks_arena *arena, const hpm_data_item *item)
{
	char *text = ranks_text(arena, "%s\x1f%s", item->is_mplex_cont ? "+" : "",
				item->group ? item->group : "");
	size_t length = text ? strlen(text) : 0, room = length + 1;
	char *longer;

	for (int i = 0; i < item->num_data; i++)
		room += 1 + (item->data[i].name ? strlen(item->data[i].name) : 0);
	longer = text ? ranks_take(arena, room, 1) : NULL;
	if (!longer)
		return NULL;
	memcpy(longer, text, length);
	for (int i = 0; i < item->num_data; i++) {
		const char *name = item->data[i].name ? item->data[i].name : "";

		longer[length++] = '\x1e';
		memcpy(longer + length, name, strlen(name));
		length += strlen(name);
	}
	return longer;
}

static int is_same(const char *one, const char *other)
{
	return !strcmp(one ? one : "", other ? other : "");
}

static int is_same_section(const hpm_data_item *first, const hpm_data_item *second)
{
	return !first->is_rusage && !second->is_rusage && first->instr_id == second->instr_id &&
	       first->is_exclusive == second->is_exclusive &&
	       first->thread_id == second->thread_id && first->process_id == second->process_id &&
	       is_same(first->label, second->label);
}

/* Sections that the library numbers, by label and thread, have other numbers on other tasks. */
static int is_numbered_here(const hpm_data_item *item)
{
	const char *points = getenv("HPM_NUM_INST_PTS");
	const long most = points && *points ? strtol(points, NULL, 10) : SECTIONS_USUAL + 1;

	return item->instr_id >= most && item->label && *item->label;
}

struct collection {
	struct ranks_arena *arena;
	struct ranks_group *group;
	uint32_t *hash; /* of the items' keys before ordinals are added */
	int n_signatures;
	char **signature;
};

static int place_of(struct collection *all, char *signature)
{
	int place = 0;

	while (place < all->n_signatures && strcmp(all->signature[place], signature) != 0)
		place++;
	if (place == all->n_signatures) {
		char **longer = ranks_grow(all->arena, all->signature, place, sizeof(*longer));

		if (!longer)
			return -1;
		all->signature = longer;
		all->signature[all->n_signatures++] = signature;
	}
	return place;
}

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619u;
	return hash;
}

/* The same on every task for what is the same section and group. */
static char *key_of(struct collection *all, int index, const hpm_data_item *item, int place)
{
	char *key;
	int ordinal = 0;

	if (item->is_rusage)
		key = ranks_text(all->arena, "usage");
	else if (is_numbered_here(item))
		key = ranks_text(all->arena, "%d\x1f%d\x1f*\x1f%s", place, item->is_exclusive,
				 item->label);
	else
		key = ranks_text(all->arena, "%d\x1f%d\x1f%d\x1f%s", place, item->is_exclusive,
				 item->instr_id, item->label ? item->label : "");
	if (!key)
		return NULL;
	all->hash[index] = hash_of(key);
	for (int i = 0; i < index; i++)
		ordinal += all->hash[i] == all->hash[index];
	return ordinal ? ranks_text(all->arena, "%s\x1f%d", key, ordinal) : key;
}

/* --- one task's values ------------------------------------------------------------------------ */

static void take_event(struct ranks_arena *arena, int task, const hpm_event_info *from,
		       struct ranks_event *event)
{
	const int has_value = from->how != HPM_UNAVAILABLE && isfinite(from->value);

	event->name = copied(arena, from->name);
	event->component = copied(arena, from->component);
	event->unit = copied(arena, from->unit);
	event->description = copied(arena, from->description);
	event->reason = copied(arena, has_value ? "" : from->reason);
	event->reason_task = task;
	event->how = has_value ? from->how : HPM_UNAVAILABLE;
	event->modes = from->modes;
	event->has_modes = has_value;
	event->flags = from->flags;
	if (has_value && isfinite(from->enabled_s))
		event->enabled_s = from->enabled_s;
	if (has_value && isfinite(from->running_s))
		event->running_s = from->running_s;
	ranks_number_set(&event->value, has_value ? from->value : (double)NAN, task);
}

static int take_item(struct collection *all, int index, int task, const hpm_data_item *from)
{
	struct ranks_item *item = &all->group->item[index];
	char *signature = from->is_rusage ? NULL : signature_of(all->arena, from);

	if (!from->is_rusage && !signature)
		return ENOMEM;
	item->place = from->is_rusage ? 0 : place_of(all, signature);
	item->key = item->place < 0 ? NULL : key_of(all, index, from, item->place);
	item->label = copied(all->arena, from->label);
	item->group = copied(all->arena, from->group);
	item->file = copied(all->arena, from->file);
	item->parent_label = copied(all->arena, from->parent_label);
	item->lowest = task;
	item->is_rusage = from->is_rusage;
	item->is_mplex_cont = from->is_mplex_cont;
	item->instr_id = from->instr_id;
	item->is_exclusive = from->is_exclusive;
	item->line = from->line;
	item->parent_id = from->parent_id;
	ranks_add_task(&item->tasks, task);
	ranks_number_set(&item->count, from->count, task);
	for (int t = 0; t < HPM_NTIM; t++)
		ranks_number_set(&item->times[t], from->times[t], task);
	item->n_events = from->num_data;
	item->event = ranks_take(all->arena, (size_t)from->num_data, sizeof(*item->event));
	if (!item->key || !item->event)
		return ENOMEM;
	for (int i = 0; i < from->num_data; i++)
		take_event(all->arena, task, &from->data[i], &item->event[i]);
	return all->arena->is_full ? ENOMEM : 0;
}

int ranks_collect(struct ranks_arena *arena, int task, int n, const hpm_data_item *items,
		  struct ranks_group *group, int *is_changed)
{
	struct collection all = {.arena = arena, .group = group};

	memset(group, 0, sizeof(*group));
	*is_changed = 0;
	group->path = copied(arena, "");
	group->n_items = n;
	group->item = ranks_take(arena, (size_t)n, sizeof(*group->item));
	all.hash = ranks_take(arena, (size_t)n, sizeof(*all.hash));
	ranks_add_task(&group->tasks, task);
	if (!group->path || !group->item || !all.hash)
		return ENOMEM;
	for (int i = 0; i < n; i++) {
		const int error = take_item(&all, i, task, &items[i]);

		if (error)
			return error;
		if (i && !items[i].is_mplex_cont && is_same_section(&items[i - 1], &items[i]))
			*is_changed = 1;
	}
	group->scenario = copied(arena, "");
	for (int i = 0; group->scenario && i < all.n_signatures; i++)
		group->scenario = ranks_text(arena, "%s\x1d%s", group->scenario, all.signature[i]);
	return group->scenario ? 0 : ENOMEM;
}

/* --- putting together ------------------------------------------------------------------------- */

static void add_bins(int64_t **into, int64_t *other, int n)
{
	if (!*into)
		*into = other;
	else if (other)
		for (int i = 0; i < n; i++)
			(*into)[i] += other[i];
}

static void merge_event(struct ranks_event *into, const struct ranks_event *other, int n_bins)
{
	if (other->has_modes) {
		/* Those that were counted in different modes have none in common. */
		if (into->has_modes && into->modes != other->modes)
			into->modes = 0;
		else if (!into->has_modes)
			into->modes = other->modes;
		into->has_modes = 1;
	}
	if (other->reason[0] && (!into->reason[0] || other->reason_task < into->reason_task)) {
		into->reason = other->reason;
		into->reason_task = other->reason_task;
	}
	if (other->how > into->how)
		into->how = other->how;
	into->flags |= other->flags;
	into->enabled_s += other->enabled_s;
	into->running_s += other->running_s;
	ranks_number_add(&into->value, &other->value);
	add_bins(&into->bins, other->bins, n_bins);
}

static int merge_item(struct ranks_item *into, const struct ranks_item *other, int n_bins)
{
	if (into->n_events != other->n_events)
		return EBADMSG;
	if (other->lowest < into->lowest) {
		into->lowest = other->lowest;
		into->label = other->label;
		into->group = other->group;
		into->file = other->file;
		into->parent_label = other->parent_label;
		into->line = other->line;
		into->instr_id = other->instr_id;
		into->parent_id = other->parent_id;
	}
	ranks_add_tasks(&into->tasks, &other->tasks);
	ranks_number_add(&into->count, &other->count);
	for (int t = 0; t < HPM_NTIM; t++)
		ranks_number_add(&into->times[t], &other->times[t]);
	add_bins(&into->bins, other->bins, HPM_NTIM * n_bins);
	for (int i = 0; i < into->n_events; i++)
		merge_event(&into->event[i], &other->event[i], n_bins);
	return 0;
}

struct ranks_item *ranks_item_of(const struct ranks_group *group, const char *key, int hint)
{
	/* It mostly stands where it does on the other task. */
	if (hint < group->n_items && !strcmp(group->item[hint].key, key))
		return &group->item[hint];
	for (int i = 0; i < group->n_items; i++)
		if (!strcmp(group->item[i].key, key))
			return &group->item[i];
	return NULL;
}

struct ranks_group *ranks_group_of(const struct ranks_total *total, const char *scenario,
				   const char *path)
{
	for (int i = 0; i < total->n_groups; i++)
		if (!strcmp(total->group[i].path, path) &&
		    !strcmp(total->group[i].scenario, scenario))
			return &total->group[i];
	return NULL;
}

/* A copy of n things with room for one more behind them, or NULL. */
static void *one_longer(struct ranks_arena *arena, const void *things, int n, size_t size)
{
	void *longer = ranks_take(arena, (size_t)n + 1, size);

	if (longer && n)
		memcpy(longer, things, (size_t)n * size);
	return longer;
}

static int add_item(struct ranks_arena *arena, struct ranks_group *into,
		    const struct ranks_item *item)
{
	struct ranks_item *longer =
		one_longer(arena, into->item, into->n_items, sizeof(*into->item));

	if (!longer)
		return ENOMEM;
	longer[into->n_items++] = *item;
	into->item = longer;
	return 0;
}

int ranks_merge_group(struct ranks_arena *arena, struct ranks_group *into,
		      struct ranks_group *other, int n_bins)
{
	int error = 0;

	ranks_add_tasks(&into->tasks, &other->tasks);
	for (int i = 0; !error && i < other->n_items; i++) {
		struct ranks_item *item = ranks_item_of(into, other->item[i].key, i);

		error = item ? merge_item(item, &other->item[i], n_bins)
			     : add_item(arena, into, &other->item[i]);
	}
	return error;
}

/* Of too many groups those with the lowest tasks stay, and those that lead to others. */
static void drop_group(struct ranks_total *total)
{
	int last = total->n_groups - 1;

	for (int i = last - 1; i >= 0; i--)
		if (total->group[i].state != RANKS_SPLIT &&
		    ranks_lowest(&total->group[i].tasks) > ranks_lowest(&total->group[last].tasks))
			last = i;
	ranks_add_tasks(&total->crowded, &total->group[last].tasks);
	total->group[last] = total->group[--total->n_groups];
}

int ranks_merge_total(struct ranks_arena *arena, struct ranks_total *into,
		      struct ranks_total *other)
{
	int error = 0;

	into->n_bins = into->n_bins ? into->n_bins : other->n_bins;
	into->is_binning |= other->is_binning;
	ranks_add_tasks(&into->changed, &other->changed);
	ranks_add_tasks(&into->uneven, &other->uneven);
	ranks_add_tasks(&into->crowded, &other->crowded);
	for (int i = 0; !error && i < other->n_groups; i++) {
		struct ranks_group *group = &other->group[i];
		struct ranks_group *mine = ranks_group_of(into, group->scenario, group->path);

		if (mine) {
			error = ranks_merge_group(arena, mine, group, into->n_bins);
			continue;
		}
		mine = one_longer(arena, into->group, into->n_groups, sizeof(*mine));
		if (!mine)
			return ENOMEM;
		mine[into->n_groups++] = *group;
		into->group = mine;
		if (into->n_groups > RANKS_GROUPS)
			drop_group(into);
	}
	return error;
}
