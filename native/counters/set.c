/* Event sets: what is in them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event_grammar.h"
#include "overflow.h"
#include "sets.h"
#include "targets.h"

/* Names that are added at once, and what each resolves to. */
struct batch {
	int names;
	int units;
	int together;
	struct gn_resolved **resolved;
	struct gn_resolved *resolved_name; /* where there is one name only */
	char *text;			   /* what the names lie in, where there are several */
	const char **name;
};

static int reserve(void **array, int *room, int wanted, size_t size)
{
	int grown_room = *room ? *room : 8;
	void *grown;

	if (wanted <= *room)
		return GN_OK;
	while (grown_room < wanted)
		grown_room *= 2;
	grown = realloc(*array, (size_t)grown_room * size);
	if (!grown)
		return gn_set_no_memory();
	*array = grown;
	*room = grown_room;
	return GN_OK;
}

/* --- making and ending ------------------------------------------------------------------------ */

/* Fields that a caller's older header does not have stay at their defaults. */
static int copy_options(struct gn_options *to, const struct gn_options *from)
{
	static const struct gn_options defaults = GN_OPTIONS_INIT;

	*to = defaults;
	if (!from)
		return gn_options_check(to);
	if (from->size < offsetof(struct gn_options, inherit) || from->size > 4096)
		return gn_fail(GN_EINVAL,
			       "options: size is %zu; begin with GN_OPTIONS_INIT, which sets it",
			       from->size);
	memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
	to->size = sizeof(*to);
	return gn_options_check(to);
}

int gn_set_create(gn_set *set, const struct gn_options *options)
{
	const struct gn_self *self = gn_self();
	struct gn_event_set *created;
	int error;

	if (!set)
		return gn_fail(GN_EINVAL, "gn_set_create: no place for the handle; give one");
	*set = GN_SET_NULL;
	if (!self)
		return gn_set_no_memory();
	created = calloc(1, sizeof(*created));
	if (!created)
		return gn_set_no_memory();
	created->epoch = self->epoch;
	created->tid = self->tid;
	created->quick_fd = -1;
	error = copy_options(&created->options, options);
	if (error)
		goto fail;
	created->is_attached = created->options.pid != 0 || created->options.cpu != -1;
	created->place = gn_set_take_place(&created->options, created->tid);
	if (!created->place) {
		error = gn_set_no_memory();
		goto fail;
	}
	error = gn_set_publish(created);
	if (error) {
		gn_target_release(created->place);
		goto fail;
	}
	*set = created->handle;
	return GN_OK;
fail:
	free(created);
	return error;
}

int gn_set_clear(gn_set handle)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);

	if (set) {
		gn_set_forget(set);
		set->has_started = 0;
	}
	return error;
}

int gn_set_destroy(gn_set *handle)
{
	struct gn_event_set *set = handle ? gn_set_find(*handle) : NULL;
	int is_ours;

	if (!handle)
		return gn_fail(GN_EINVAL, "gn_set_destroy: no handle; give the address of one");
	if (!set)
		return gn_set_use(*handle) ? GN_EBUG : GN_ENOEVST;
	is_ours = set->epoch == gn_epoch();
	if (is_ours && set->is_running)
		return gn_set_refuse_running(set);
	if (is_ours && set->n_members)
		return gn_fail(GN_EINVAL,
			       "event set %d: there are events in it; clear it first "
			       "(gn_set_clear)",
			       *handle);
	if (!gn_process())
		return gn_set_no_memory();
	gn_set_withdraw(set);
	gn_set_forget(set);
	if (is_ours)
		gn_target_release(set->place);
	free(set->member);
	free(set->at);
	free(set);
	*handle = GN_SET_NULL;
	return GN_OK;
}

/* --- adding ----------------------------------------------------------------------------------- */

static void free_batch(struct batch *batch)
{
	for (int i = 0; batch->resolved && i < batch->names; i++) {
		if (batch->resolved[i])
			gn_resolved_leave(batch->resolved[i]);
	}
	if (batch->resolved != &batch->resolved_name)
		free(batch->resolved);
	free(batch->text);
	free(batch->name);
}

/* Takes "{a,b}" apart; the commas of pmu/a,b/ do not separate. */
static int split_braces(const char *text, struct batch *batch)
{
	const size_t length = strlen(text);
	int slashes = 0;
	char *word;

	if (text[length - 1] != '}' || length < 3)
		return gn_fail(GN_EINVAL, "event group '%s': the brace is not closed; close it",
			       text);
	batch->text = strdup(text + 1);
	batch->name = malloc(GN_GROUP_MAX * sizeof(*batch->name));
	if (!batch->text || !batch->name)
		return gn_set_no_memory();
	batch->text[length - 2] = ',';
	batch->names = 0;
	batch->together = 1;
	word = batch->text;
	for (char *next = word; *next; next++) {
		slashes += *next == '/';
		if (*next != ',' || slashes == 1)
			continue;
		*next = '\0';
		while (*word == ' ')
			word++;
		if (!*word || strpbrk(word, "{}") || batch->names == GN_GROUP_MAX)
			return gn_fail(GN_EINVAL,
				       "event group '%s': an empty name, a brace within, or more "
				       "than %d names; separate names by commas",
				       text, GN_GROUP_MAX);
		batch->name[batch->names++] = word;
		word = next + 1;
		slashes = 0;
	}
	if (*word)
		return gn_fail(GN_EINVAL, "event group '%s': a slash is not closed; close it",
			       text);
	return GN_OK;
}

static int resolve_names(const char *text, struct batch *batch)
{
	int error = GN_OK;

	memset(batch, 0, sizeof(*batch));
	if (!text || !*text)
		return gn_fail(GN_EINVAL, "event: no name; give one that `gnomon events` lists");
	batch->names = 1;
	batch->resolved = &batch->resolved_name;
	if (*text == '{') {
		error = split_braces(text, batch);
		batch->resolved =
			error ? NULL : calloc((size_t)batch->names, sizeof(struct gn_resolved *));
		if (!error && !batch->resolved)
			error = gn_set_no_memory();
	}
	for (int i = 0; !error && i < batch->names; i++) {
		error = gn_resolved_name(batch->name ? batch->name[i] : text, &batch->resolved[i],
					 gn_last_error());
		if (!error && batch->resolved[i]->n > batch->units)
			batch->units = batch->resolved[i]->n;
	}
	return error;
}

/* The modifiers of an event's name, as typed. */
static const char *letters_of(const struct gn_event *event)
{
	char base[GN_NAME_MAX];
	struct gn_modifiers modifiers;
	struct gn_error_text why;

	return gn_modifiers(event->name, base, &modifiers, &why) ? "" : event->name + strlen(base);
}

/* Two names of one event, as `faults` is another one of `page-faults`. */
static int are_aliases(const struct gn_event *first, const struct gn_event *second)
{
	return !((first->flags | second->flags) & GN_EVENT_PRESET) && first->n == 1 &&
	       second->n == 1 && first->component == second->component &&
	       !strcmp(first->native[0], second->native[0]) &&
	       !strcmp(letters_of(first), letters_of(second));
}

static int are_same(const struct gn_event *first, const struct gn_event *second)
{
	if ((first->code != second->code && !are_aliases(first, second)) || first->n != second->n ||
	    first->domain != second->domain)
		return 0;
	for (int i = 0; i < first->n; i++) {
		if (memcmp(&first->spec[i].config, &second->spec[i].config,
			   4 * sizeof(first->spec[i].config)) ||
		    first->spec[i].type != second->spec[i].type)
			return 0;
	}
	return 1;
}

static int find_member(const struct gn_event_set *set, const struct gn_event *event)
{
	for (int m = 0; m < set->n_members; m++) {
		if (are_same(set->member[m].event, event))
			return m;
	}
	return -1;
}

/* Takes the members from `first` on out again. */
static void take_back(struct gn_event_set *set, int first)
{
	while (set->n_members > first) {
		const struct gn_member *member = &set->member[--set->n_members];

		for (int k = member->first; k < set->n_at; k++)
			set->plan.native[set->at[k]].users--;
		set->n_at = member->first;
		gn_resolved_leave(member->of);
	}
	gn_plan_drop_unused(&set->plan, set->at, set->n_at);
}

static int is_twice(const struct gn_event *event, const struct gn_event *twin)
{
	if (!strcmp(event->name, twin->name))
		return gn_fail(GN_ECNFLCT, "event '%s': it is in the set already; read it there",
			       event->name);
	return gn_fail(GN_ECNFLCT,
		       "event '%s': it is in the set already, by the name '%s'; read it there",
		       event->name, twin->name);
}

/* Adds the events of one unit, which become the set's. */
static int add_unit(struct gn_event_set *set, struct batch *batch, int unit)
{
	const struct gn_event *few[8], **events = few;
	int n = 0, total = 0, error;

	if (batch->names > (int)(sizeof(few) / sizeof(few[0])))
		events = malloc((size_t)batch->names * sizeof(const struct gn_event *));
	if (!events)
		return gn_set_no_memory();
	for (int i = 0; i < batch->names; i++) {
		if (unit < batch->resolved[i]->n) {
			events[n] = batch->resolved[i]->event[unit];
			total += events[n++]->n;
		}
	}
	error = reserve((void **)&set->member, &set->room, set->n_members + n,
			sizeof(*set->member));
	if (!error)
		error = reserve((void **)&set->at, &set->at_room, set->n_at + total,
				sizeof(*set->at));
	for (int i = 0; !error && i < n; i++) {
		const int m = find_member(set, events[i]);
		const struct gn_event *twin = m >= 0 ? set->member[m].event : NULL;

		for (int before = 0; before < i && !twin; before++)
			twin = are_same(events[before], events[i]) ? events[before] : NULL;
		if (twin)
			error = is_twice(events[i], twin);
	}
	if (!error)
		error = gn_plan_add(&set->plan, events, n, batch->together, &set->at[set->n_at],
				    gn_last_error());
	for (int i = 0, k = 0; !error && i < batch->names; i++) {
		if (unit >= batch->resolved[i]->n)
			continue;
		gn_resolved_take(batch->resolved[i]);
		set->member[set->n_members++] = (struct gn_member){
			events[k], batch->resolved[i], set->n_at, set->units, batch->together};
		set->n_at += events[k++]->n;
	}
	set->units += !error;
	set->had_events |= !error;
	if (events != few)
		free(events);
	return error;
}

/* While the set stands still, `base` is what the kernel has counted. */
static void begin_at_zero(struct gn_event_set *set)
{
	if (gn_plan_read(&set->plan, gn_set_is_own(set)))
		return;
	for (int i = 0; i < set->plan.n_natives; i++)
		set->plan.native[i].base = set->plan.native[i].now;
}

static int add_batch(struct gn_event_set *set, struct batch *batch)
{
	const int before = set->n_members, is_first = !set->is_planned;
	int error = GN_OK, targets;

	if (is_first)
		error = gn_set_begin_plan(set, &set->options, &set->plan);
	if (error)
		return error;
	set->is_planned = 1;
	targets = set->plan.n_targets;
	for (int unit = 0; !error && unit < batch->units; unit++) {
		error = add_unit(set, batch, unit);
		/*
		 * Linux 6.18 adds no event to an inherited group once a child that had inherited it
		 * has ended (ENODEV): the group is opened anew.
		 */
		if (error == GN_ENOSUPP && set->plan.flags & (GN_INHERIT | GN_INHERIT_THREADS) &&
		    set->n_members && !gn_set_reopen(set, &set->options))
			error = add_unit(set, batch, unit);
	}
	if (error)
		take_back(set, before);
	gn_set_check(set);
	/* What a thread that has ended had counted is not part of the next run's zero. */
	if (set->is_planned && set->plan.n_targets != targets)
		begin_at_zero(set);
	return error;
}

int gn_set_add(gn_set handle, const char *name)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct batch batch;

	if (!set)
		return error;
	error = resolve_names(name, &batch);
	if (!error)
		error = add_batch(set, &batch);
	free_batch(&batch);
	return error;
}

int gn_set_add_code(gn_set handle, uint32_t code)
{
	int error;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct batch batch = {.names = 1};

	if (!set)
		return error;
	batch.resolved = &batch.resolved_name;
	error = gn_resolved_code(code, &batch.resolved_name, gn_last_error());
	if (!error) {
		batch.units = batch.resolved_name->n;
		error = add_batch(set, &batch);
	}
	free_batch(&batch);
	return error;
}

int gn_set_add_all(gn_set handle, const char *const *names, int n, int *added)
{
	int n_added = 0, error;

	if (added)
		*added = 0;
	if (!gn_set_use_stopped(handle, &error))
		return error;
	if (n < 0 || (n && !names))
		return gn_fail(GN_EINVAL, "events: no list of %d names; give one", n);
	while (!error && n_added < n) {
		error = gn_set_add(handle, names[n_added]);
		n_added += !error;
	}
	if (added)
		*added = n_added;
	return error;
}

/* --- removing --------------------------------------------------------------------------------- */

static void take_out(struct gn_event_set *set, int m)
{
	struct gn_member *member = &set->member[m];
	const int first = member->first, n = member->event->n;

	for (int k = first; k < first + n; k++)
		set->plan.native[set->at[k]].users--;
	set->n_at -= n;
	memmove(&set->at[first], &set->at[first + n],
		(size_t)(set->n_at - first) * sizeof(set->at[0]));
	gn_resolved_leave(member->of);
	set->n_members--;
	memmove(member, member + 1, (size_t)(set->n_members - m) * sizeof(*member));
	for (int i = m; i < set->n_members; i++)
		set->member[i].first -= n;
}

/* Marks what a batch of names means in the set; GN_EINVAL if one of them is not in it. */
static int remove_batch(struct gn_event_set *set, const struct batch *batch)
{
	for (int i = 0; i < batch->names; i++) {
		for (int k = 0; k < batch->resolved[i]->n; k++) {
			if (find_member(set, batch->resolved[i]->event[k]) < 0)
				return gn_fail(GN_EINVAL,
					       "event '%s': it is not in event set %d; gn_set_list "
					       "gives those that are",
					       batch->resolved[i]->event[k]->name, set->handle);
		}
	}
	for (int i = 0; i < batch->names; i++) {
		for (int k = 0; k < batch->resolved[i]->n; k++) {
			const int m = find_member(set, batch->resolved[i]->event[k]);

			if (m >= 0)
				take_out(set, m);
		}
	}
	return GN_OK;
}

/* One of the events that a name added, by its own name (hybrid CPUs). */
static int named(const struct gn_event_set *set, const char *name)
{
	for (int m = 0; name && m < set->n_members; m++) {
		if (!strcmp(set->member[m].event->name, name))
			return m;
	}
	return -1;
}

int gn_set_index(const struct gn_event_set *set, const char *name)
{
	int error, m = named(set, name);
	struct batch batch;

	if (m >= 0)
		return m;
	error = resolve_names(name, &batch);
	if (!error && batch.names == 1)
		m = find_member(set, batch.resolved[0]->event[0]);
	free_batch(&batch);
	if (error || m >= 0)
		return error ? error : m;
	return gn_fail(GN_ENOEVNT, "event '%s': it is not in event set %d; add it (gn_set_add)",
		       name, set->handle);
}

int gn_set_remove(gn_set handle, const char *name)
{
	int error, m;
	struct gn_event_set *set = gn_set_use_stopped(handle, &error);
	struct batch batch;

	if (!set)
		return error;
	m = named(set, name);
	/* Those that stay are armed again by gn_set_check(). */
	gn_overflow_disarm(set);
	if (m >= 0) {
		take_out(set, m);
	} else {
		error = resolve_names(name, &batch);
		if (!error)
			error = remove_batch(set, &batch);
		free_batch(&batch);
		if (error) {
			gn_set_check(set);
			return error;
		}
	}
	/* Without its leader a group falls apart: it is opened anew. If that is refused, the leader
	 * stays, unseen. */
	if (!gn_plan_drop_unused(&set->plan, set->at, set->n_at) && set->n_members)
		gn_set_reopen(set, &set->options);
	gn_set_check(set);
	return GN_OK;
}

/* --- looking ---------------------------------------------------------------------------------- */

int gn_set_size(gn_set handle)
{
	const struct gn_event_set *set = gn_set_use(handle);

	return set ? set->n_members : GN_ENOEVST;
}

int gn_set_list(gn_set handle, uint32_t *codes, int *n)
{
	const struct gn_event_set *set = gn_set_use(handle);

	if (!set)
		return GN_ENOEVST;
	if (!n || *n < 0 || (*n && !codes))
		return gn_fail(GN_EINVAL,
			       "gn_set_list: no room given; give codes and their number");
	for (int m = 0; m < *n && m < set->n_members; m++)
		codes[m] = set->member[m].event->code;
	*n = set->n_members;
	return GN_OK;
}

const char *gn_set_name(gn_set handle, int index)
{
	const struct gn_event_set *set = gn_set_use(handle);

	if (!set)
		return NULL;
	if (index < 0 || index >= set->n_members) {
		gn_fail(GN_EINVAL, "event set %d: there is no event %d; it has %d", handle, index,
			set->n_members);
		return NULL;
	}
	return set->member[index].event->name;
}

int gn_set_state(gn_set handle)
{
	const struct gn_event_set *set = gn_set_use(handle);

	if (!set)
		return GN_ENOEVST;
	return (set->is_running ? GN_STATE_RUNNING : GN_STATE_STOPPED) |
	       (set->options.multiplex ? GN_STATE_MULTIPLEXED : 0) |
	       (set->takes_turns ? GN_STATE_ROTATING : 0) |
	       (set->is_attached ? GN_STATE_ATTACHED : 0);
}

int gn_event_available(const char *name)
{
	gn_set set;
	int error = gn_set_create(&set, NULL);

	if (error)
		return error;
	error = gn_set_add(set, name);
	gn_set_clear(set);
	gn_set_destroy(&set);
	return error;
}
