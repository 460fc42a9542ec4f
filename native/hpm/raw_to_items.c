/* From the raw file's words to the vector of items that aggregators and reports get. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_time.h"
#include "event_resolver.h"
#include "section_engine.h"

#define NS_PER_S 1e9

/* User and system time of less CPU time than this are n/a, */
#define LEAST_CPU_S (GN_LEAST_CPU_NS / NS_PER_S)
/* and where so much of them cannot be. */
#define LEAST_FACTOR 0.9

/* --- words without what measuring counted ----------------------------------------------------- */

/* How many starts and stops of a kind were in the time of a section, beside its own. */
static double calls_in(const struct hpm_raw *raw, const uint64_t *words, int kind,
		       const struct hpm_raw_slot *slot, uint64_t count)
{
	const uint64_t calls = words[hpm_raw_calls_word(raw->header->n_words, kind)];
	const uint64_t own = (int)slot->kind == kind ? count : 0;

	return calls > own && !(calls >> 63) ? (double)(calls - own) : 0;
}

static double cost_of(const struct hpm_raw *raw, const struct hpm_raw_slot *slot,
		      const uint64_t *words, uint64_t count, int is_exclusive, uint32_t w)
{
	double cost = (double)count * (double)hpm_raw_cost(raw, (int)slot->kind, 0)[w];

	for (int kind = 0; kind < HPM_KINDS; kind++) {
		const double own = (double)hpm_raw_cost(raw, kind, 0)[w];
		const double pair = (double)hpm_raw_cost(raw, kind, 1)[w];
		const double calls = calls_in(raw, words, kind, slot, count);

		/* Of a part, what is between its own two reads is no part of exclusive values. */
		cost += calls * (is_exclusive ? (pair > own ? pair - own : 0) : pair / 2);
	}
	return cost;
}

/*
 * A section's words without what measuring itself counted, as calibrate.c has found it: `net` and,
 * for each word, whether anything was taken away: once for each start and stop, and never more than
 * there is.
 */
static void net_words(const struct hpm_raw *raw, const struct hpm_raw_slot *slot,
		      const struct hpm_raw_copy *copy, int is_exclusive, uint64_t *net,
		      unsigned char *is_net)
{
	const uint32_t n = raw->header->n_words;
	const uint64_t *words = copy->word + (is_exclusive ? n : 0);
	const uint64_t count = is_exclusive ? copy->exclusive_count : copy->count;

	memcpy(net, words, n * sizeof(*words));
	memset(is_net, 0, n);
	for (uint32_t p = 0; p < raw->header->n_packs; p++) {
		const struct hpm_raw_pack *pack = &raw->pack[p];
		const double enabled = (double)words[pack->word + 1];
		const double running = (double)words[pack->word + 2];

		/* Whether it had its turn when the cost was found is not known. */
		if (pack->is_turning)
			continue;
		for (uint32_t w = pack->word + 3; w < pack->word + 3 + pack->n; w++) {
			double cost = cost_of(raw, slot, words, count, is_exclusive, w);

			if (running < enabled)
				cost *= running / enabled;
			is_net[w] = cost >= 1 && !(words[w] >> 63);
			if (is_net[w])
				net[w] = cost < (double)words[w] ? words[w] - (uint64_t)cost : 0;
		}
	}
}

/* --- values ----------------------------------------------------------------------------------- */

struct count {
	uint64_t value;
	uint64_t enabled;
	uint64_t running;
};

static struct count count_of(const struct hpm_raw *raw, const struct hpm_raw_event *event,
			     uint32_t i, const uint64_t *words)
{
	const struct hpm_raw_pack *pack = &raw->pack[event->native[i].pack];
	struct count count = {words[event->native[i].word], words[pack->word + 1],
			      words[pack->word + 2]};

	/* While others have their turn a pack's own time stands still. */
	if (pack->is_turning && raw->header->flags & HPM_RAW_TURNS)
		count.enabled = words[raw->pack[0].word + 1];
	if (count.running > count.enabled)
		count.enabled = count.running;
	return count;
}

/* What `ops` leave on the stack, on scaled counts. The program was checked when it was made. */
static int evaluate(const struct hpm_raw_event *raw, const double *counts, double seconds,
		    double *value)
{
	struct gn_op op[HPM_RAW_OPS_MAX];
	const struct gn_event event = {.n = (int)raw->n_natives, .ops = (int)raw->n_ops, .op = op};

	for (uint32_t i = 0; i < raw->n_ops; i++)
		op[i] = (struct gn_op){(enum gn_op_kind)raw->op[i].kind, (int)raw->op[i].native,
				       raw->op[i].constant};
	return gn_event_evaluate_timed(&event, counts, seconds, value);
}

/*
 * Exclusive words are those of a section less those of its parts, which sections of threads read
 * from counters of their own: where counters take turns, these may have had other turns.
 */
static int is_negative(uint64_t word)
{
	return word >> 63 != 0;
}

static void unavailable(hpm_event_info *info, const char *reason)
{
	info->value = NAN;
	info->how = HPM_UNAVAILABLE;
	info->reason = (char *)reason;
}

void hpm_event_value(const struct hpm_raw *raw, uint32_t e, const uint64_t *words,
		     hpm_event_info *info)
{
	struct hpm_raw_event *event = &raw->event[e];
	double scaled[HPM_RAW_NATIVES_MAX], sum = 0;
	struct count least = {0, 0, UINT64_MAX};
	int is_scaled = 0, is_missing = 0, is_less = 0;

	memset(info, 0, sizeof(*info));
	info->name = event->name;
	info->component = event->component;
	info->unit = event->unit;
	info->description = event->description;
	info->reason = event->reason;
	info->modes = (int)event->modes;
	info->flags = (int)event->flags;
	if (!event->n_natives) {
		unavailable(info, event->reason);
		return;
	}
	for (uint32_t i = 0; i < event->n_natives; i++) {
		const struct count count = count_of(raw, event, i, words);

		is_less |= is_negative(count.value) || is_negative(count.enabled) ||
			   is_negative(count.running);
		scaled[i] = (double)count.value;
		if (count.running != count.enabled) {
			is_scaled = 1;
			is_missing |= !count.running;
			if (count.running)
				scaled[i] *= (double)count.enabled / (double)count.running;
		}
		sum += (double)event->native[i].factor * scaled[i];
		if (count.running <= least.running)
			least = count;
	}
	info->enabled_s = (double)least.enabled / NS_PER_S;
	info->running_s = (double)least.running / NS_PER_S;
	info->how = is_scaled ? HPM_SCALED : HPM_COUNTED;
	if (is_less) {
		unavailable(info, "sections of threads in it had other turns on the counters than "
				  "it had; count fewer events at once");
		return;
	}
	if (is_missing) {
		unavailable(info, "it was never on the counters in the section, as others had "
				  "their turn; make the section longer, or HPM_SLICE_DURATION "
				  "smaller");
		return;
	}
	if (event->n_ops && evaluate(event, scaled, info->enabled_s, &sum)) {
		unavailable(info, "its formula divides by a count that is 0; measure for longer");
		return;
	}
	info->value = sum * event->scale;
	if (!isfinite(info->value))
		unavailable(info, "its value is beyond all numbers; reset the program's counts by "
				  "more sections");
}

/* --- items ------------------------------------------------------------------------------------ */

struct list {
	const struct hpm_raw *raw;
	struct hpm_raw_slot **sorted; /* by number, then place */
	struct hpm_raw_slot *sum;     /* of all places of a section; NULL: they stay apart */
	uint32_t n_slots;
	int has_kept;  /* exclusive values of all sections */
	uint64_t *net; /* words of a section */
	unsigned char *is_net;
	hpm_event_vector items;
	int n;
};

static double seconds(const struct hpm_raw_header *header, uint64_t ticks)
{
	return (double)ticks / header->ticks_hz;
}

/* Seconds since the epoch of a moment of the sections' clock. */
static double epoch_s(const struct hpm_raw_header *header, uint64_t ticks)
{
	const double since = ticks >= header->ticks ? seconds(header, ticks - header->ticks)
						    : -seconds(header, header->ticks - ticks);

	return (double)header->realtime_ns / NS_PER_S + since;
}

static hpm_data_item *add_item(struct list *list, int n_data)
{
	hpm_data_item *item = &list->items[list->n];

	memset(item, 0, sizeof(*item));
	item->data = calloc((size_t)n_data + 1, sizeof(*item->data));
	if (!item->data)
		return NULL;
	item->num_data = n_data;
	item->mpi_task_id = list->raw->header->task;
	item->process_id = (int)list->raw->header->pid;
	for (int t = 0; t < HPM_NTIM; t++)
		item->times[t] = NAN;
	item->times[HPM_TIME_INIT] = epoch_s(list->raw->header, list->raw->header->ticks);
	list->n++;
	return item;
}

static int add_usage(struct list *list, const double *now)
{
	hpm_data_item *item = add_item(list, HPM_RAW_RUSAGE);

	if (!item)
		return -ENOMEM;
	item->is_rusage = 1;
	hpm_rusage_events(list->raw->header, now, item->data);
	if (now) {
		item->times[HPM_TIME_USER] = item->data[0].value;
		item->times[HPM_TIME_SYSTEM] = item->data[1].value;
	}
	return 0;
}

static int by_id(const void *one, const void *other)
{
	const struct hpm_raw_slot *const *a = one, *const *b = other;

	return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static int by_id_and_place(const void *one, const void *other)
{
	const struct hpm_raw_slot *const *a = one, *const *b = other;
	const int order = by_id(one, other);

	return order ? order : ((*a)->place > (*b)->place) - ((*a)->place < (*b)->place);
}

static const struct hpm_raw_slot *slot_of(const struct list *list, int32_t id)
{
	const struct hpm_raw_slot wanted = {.id = id};
	const struct hpm_raw_slot *key = &wanted;
	struct hpm_raw_slot **slot =
		bsearch(&key, list->sorted, list->n_slots, sizeof(*list->sorted), by_id);

	return slot ? *slot : NULL;
}

static int clamped(uint64_t count)
{
	return count > INT32_MAX ? INT32_MAX : (int)count;
}

/* Whether what starts and stops counted was taken from any of its counts. */
static int is_less(const struct list *list, const struct hpm_raw_event *event)
{
	int is_any_net = 0;

	for (uint32_t i = 0; i < event->n_natives; i++)
		is_any_net |= list->is_net[event->native[i].word];
	return is_any_net;
}

/* The most CPU time that the section can have had, by clocks that know more than ticks; or
 * INFINITY. */
static double cpu_limit_s(const struct list *list, const struct hpm_raw_slot *slot,
			  const uint64_t *words, double wall)
{
	double limit = slot->kind == HPM_THREAD ? wall : INFINITY;

	for (uint32_t e = 0; e < list->raw->header->n_events; e++) {
		hpm_event_info info;

		if (strcmp(list->raw->event[e].name, "task-clock") != 0)
			continue;
		hpm_event_value(list->raw, e, words, &info);
		if (info.how != HPM_UNAVAILABLE && info.value / NS_PER_S < limit)
			limit = info.value / NS_PER_S;
	}
	return limit;
}

/*
 * User and system time, if there is enough of them to be told apart by ticks, and if they do not
 * contradict the clocks: of many short activations they are the kernel's in a sample of them. What
 * the clocks know is the sum, which then is theirs, as in the kernel's own files.
 */
static void set_cpu_times(const struct list *list, const struct hpm_raw_slot *slot,
			  const uint64_t *words, double wall, double *times)
{
	const uint32_t n = list->raw->header->n_words;
	const double limit = cpu_limit_s(list, slot, words, wall);
	/* Both are asked for at other moments of a section than of its parts. */
	const double user = is_negative(words[n - 2]) ? 0 : (double)words[n - 2] / 1e6;
	const double system = is_negative(words[n - 1]) ? 0 : (double)words[n - 1] / 1e6;
	const double sum = user + system;
	const double factor = sum > limit ? limit / sum : 1;

	if (sum < LEAST_CPU_S || limit < LEAST_CPU_S || factor < LEAST_FACTOR)
		return;
	times[HPM_TIME_USER] = user * factor;
	times[HPM_TIME_SYSTEM] = system * factor;
}

/* One group of a section, inclusive or exclusive. */
static int add_group(struct list *list, struct hpm_raw_slot *slot, struct hpm_raw_slot *first,
		     uint32_t g, int is_exclusive)
{
	const struct hpm_raw *raw = list->raw;
	const struct hpm_raw_header *header = raw->header;
	struct hpm_raw_group *group = &raw->group[g];
	struct hpm_raw_copy *copy =
		hpm_raw_copy_of(slot, header->n_words, atomic_load(&slot->sequence));
	const uint64_t *words = list->net;
	const double wall =
		seconds(header, is_exclusive ? copy->exclusive_ticks : copy->wall_ticks);
	const struct hpm_raw_slot *parent = slot_of(list, slot->parent);
	hpm_data_item *item = add_item(list, (int)group->n);

	if (!item)
		return -ENOMEM;
	net_words(raw, slot, copy, is_exclusive, list->net, list->is_net);
	item->times[HPM_TIME_WALLCLOCK] = wall;
	item->times[HPM_TIME_CYCLE] = wall;
	item->times[HPM_TIME_START] = epoch_s(header, copy->first_ticks);
	item->times[HPM_TIME_STOP] = epoch_s(header, copy->last_ticks);
	item->times[HPM_TIME_OVERHEAD] = seconds(header, slot->overhead_ticks);
	if (!copy->lost)
		set_cpu_times(list, slot, words, wall, item->times);
	item->is_mplex_cont = g > 0;
	item->instr_id = slot->id;
	item->count = clamped(is_exclusive && copy->exclusive_count < copy->count
				      ? copy->exclusive_count
				      : copy->count + slot->nested);
	item->is_exclusive = is_exclusive;
	item->xml_element_id = list->sum ? slot->id : (int)slot->place;
	item->label = first->label;
	item->file = first->file;
	item->line = slot->line;
	item->group = group->name;
	item->parent_id = slot->parent;
	item->parent_label = parent ? (char *)parent->label : NULL;
	item->thread_id = slot->kind == HPM_THREAD ? slot->thread : 0;
	for (uint32_t i = 0; i < group->n; i++) {
		hpm_event_info *info = &item->data[i];

		hpm_event_value(raw, group->first + i, words, info);
		if (is_less(list, &raw->event[group->first + i]))
			info->flags |= HPM_IS_NET;
		if (copy->lost && info->how != HPM_UNAVAILABLE)
			unavailable(info, "its counters could not be read at every start and stop; "
					  "`gnomon doctor` says what is in the way");
	}
	return 0;
}

/* first: of the same section, for texts that stay. */
static int add_section(struct list *list, struct hpm_raw_slot *slot, struct hpm_raw_slot *first)
{
	const struct hpm_raw_header *header = list->raw->header;
	const struct hpm_raw_copy *copy =
		hpm_raw_copy_of(slot, header->n_words, atomic_load(&slot->sequence));
	int error = 0;

	if (!copy->count)
		return 0;
	for (uint32_t g = 0; !error && g < header->n_groups; g++)
		error = add_group(list, slot, first, g, 0);
	for (uint32_t g = 0;
	     !error && (slot->is_exclusive || list->has_kept) && g < header->n_groups; g++)
		error = add_group(list, slot, first, g, 1);
	return error;
}

/* Adds what was measured at a place to what was measured at others, n_words each. */
static void add_place(struct hpm_raw_slot *sum, struct hpm_raw_slot *slot, uint32_t n_words)
{
	struct hpm_raw_copy *to = hpm_raw_copy_of(sum, n_words, 0);
	const struct hpm_raw_copy *from =
		hpm_raw_copy_of(slot, n_words, atomic_load(&slot->sequence));

	sum->overhead_ticks += slot->overhead_ticks;
	sum->nested += slot->nested;
	sum->is_exclusive |= slot->is_exclusive;
	if (!from->count)
		return;
	if (!to->count || from->first_ticks < to->first_ticks)
		to->first_ticks = from->first_ticks;
	if (!to->count || from->last_ticks > to->last_ticks) {
		to->last_ticks = from->last_ticks;
		sum->parent = slot->parent;
	}
	to->count += from->count;
	to->wall_ticks += from->wall_ticks;
	to->lost += from->lost;
	to->exclusive_count += from->exclusive_count;
	to->exclusive_ticks += from->exclusive_ticks;
	for (uint32_t w = 0; w < 2 * n_words; w++)
		to->word[w] += from->word[w];
}

/* The section of sorted[i], from all places if these do not stay apart; *i: the next one. */
static int add_next(struct list *list, uint32_t *i)
{
	const uint32_t n_words = list->raw->header->n_words;
	struct hpm_raw_slot *first = list->sorted[(*i)++];

	if (!list->sum || *i == list->n_slots || list->sorted[*i]->id != first->id)
		return add_section(list, first, first);
	memset(list->sum, 0, list->raw->header->slot_bytes);
	memcpy(list->sum, first, offsetof(struct hpm_raw_slot, label));
	atomic_store(&list->sum->sequence, 0);
	list->sum->overhead_ticks = list->sum->nested = 0;
	add_place(list->sum, first, n_words);
	for (; *i < list->n_slots && list->sorted[*i]->id == first->id; ++*i)
		add_place(list->sum, list->sorted[*i], n_words);
	return add_section(list, list->sum, first);
}

int hpm_items_of(const struct hpm_raw *raw, const double *rusage, int for_run, int *n,
		 hpm_event_vector *items)
{
	struct list list = {
		.raw = raw,
		.n_slots = atomic_load(&raw->header->n_slots),
		.has_kept = for_run && raw->header->flags & HPM_RAW_KEPT,
	};
	int error = -ENOMEM;

	list.sorted = calloc(list.n_slots + 1, sizeof(*list.sorted));
	list.items =
		calloc(1 + 2 * (size_t)list.n_slots * raw->header->n_groups, sizeof(*list.items));
	list.net = calloc(raw->header->n_words, sizeof(*list.net));
	list.is_net = calloc(raw->header->n_words, 1);
	if (!for_run)
		list.sum = calloc(1, raw->header->slot_bytes);
	if (!list.sorted || !list.items || !list.net || !list.is_net || (!for_run && !list.sum))
		goto out;
	for (uint32_t i = 0; i < list.n_slots; i++)
		list.sorted[i] = hpm_raw_slot_at(raw, i);
	qsort(list.sorted, list.n_slots, sizeof(*list.sorted), by_id_and_place);
	error = add_usage(&list, rusage);
	for (uint32_t i = 0; !error && i < list.n_slots;)
		error = add_next(&list, &i);
out:
	free(list.sorted);
	free(list.sum);
	free(list.net);
	free(list.is_net);
	if (error) {
		hpm_items_free(list.n, list.items);
		return error;
	}
	*n = list.n;
	*items = list.items;
	return 0;
}

void hpm_items_free(int n, hpm_event_vector items)
{
	for (int i = 0; items && i < n; i++)
		free(items[i].data);
	free(items);
}
