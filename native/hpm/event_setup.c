/* What HPM_EVENT_SET and GNOMON_EVENTS ask for, and how the kernel is to count it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork_state.h"
#include "group_plan.h"
#include "section_engine.h"

#define ASKED_MAX 64
#define RESOLVED_MAX 16
#define NS_PER_MS 1000000ull

extern char **environ;

/* At most so many events a turn, 0 for no limit: tests let software events take turns by it. */
extern int hpm_group_limit;
int hpm_group_limit;

/* An event on its way from its name to the raw file's table. */
struct wanted {
	struct gn_event *event; /* NULL: it cannot be counted */
	int at[GN_NATIVES_MAX]; /* its native events in the plan */
	int is_named;
	char reason[512];
};

struct setup {
	struct hpm_engine *engine;
	struct hpm_raw_plan *plan;
	struct gn_plan native;
	int room;
	int is_named; /* these events were asked for by name: what cannot be counted is an error */
	struct wanted *wanted; /* [header.n_events] */
};

static void copy_text(char *to, size_t size, const char *from)
{
	const size_t length = from ? strnlen(from, size - 1) : 0;

	memcpy(to, from ? from : "", length);
	to[length] = '\0';
}

/* --- names ------------------------------------------------------------------------------------ */

static int add_event(struct setup *setup, const char *name, struct gn_event *event,
		     const char *reason)
{
	struct hpm_raw_header *header = &setup->plan->header;
	struct hpm_raw_event *raw;

	if ((int)header->n_events == setup->room) {
		const int room = setup->room ? 2 * setup->room : 16;
		void *events = realloc(setup->plan->event, (size_t)room * sizeof(*raw));
		void *wanted;

		if (!events)
			return -ENOMEM;
		setup->plan->event = events;
		wanted = realloc(setup->wanted, (size_t)room * sizeof(*setup->wanted));
		if (!wanted)
			return -ENOMEM;
		setup->wanted = wanted;
		setup->room = room;
	}
	raw = &setup->plan->event[header->n_events];
	memset(raw, 0, sizeof(*raw));
	copy_text(raw->name, sizeof(raw->name), event ? event->name : name);
	memset(&setup->wanted[header->n_events], 0, sizeof(*setup->wanted));
	setup->wanted[header->n_events].event = event;
	setup->wanted[header->n_events].is_named = setup->is_named;
	copy_text(setup->wanted[header->n_events].reason, sizeof(setup->wanted->reason), reason);
	header->n_events++;
	return 0;
}

/* The sentence without "event 'X': ", which stands beside the event's name. */
static const char *without_name(const char *sentence)
{
	const char *colon = strstr(sentence, "': ");

	return !strncmp(sentence, "event '", 7) && colon ? colon + 3 : sentence;
}

static int add_name(struct setup *setup, const char *name)
{
	struct gn_event *event[RESOLVED_MAX];
	struct gn_error_text why = {.text = ""};
	int n = 0, error = 0;

	if (setup->plan->header.n_events + RESOLVED_MAX > HPM_RAW_EVENTS_MAX) {
		hpm_error(NULL, HPM_BAD_EVENT,
			  "event '%s': more than %d events are asked for; ask "
			  "for fewer",
			  name, HPM_RAW_EVENTS_MAX);
		return 0;
	}
	if (gn_resolve(name, event, RESOLVED_MAX, &n, &why)) {
		if (setup->is_named)
			hpm_error(NULL, HPM_BAD_EVENT, "%s", why.text);
		return add_event(setup, name, NULL, without_name(why.text));
	}
	for (int i = 0; i < n; i++) {
		const char *reason = "";

		if (event[i]->ops > HPM_RAW_OPS_MAX) {
			gn_event_free(event[i]);
			event[i] = NULL;
			reason = "its formula is too long for a section; name its native events";
		}
		if (!error)
			error = add_event(setup, name, event[i], reason);
		else if (event[i])
			gn_event_free(event[i]);
	}
	return error;
}

static struct hpm_raw_group *begin_group(struct setup *setup, const char *name)
{
	struct hpm_raw_header *header = &setup->plan->header;
	struct hpm_raw_group *group = &setup->plan->group[header->n_groups];

	copy_text(group->name, sizeof(group->name), name);
	group->first = header->n_events;
	group->n = 0;
	header->n_groups++;
	return group;
}

static int add_group(struct setup *setup, const struct hpm_group *asked)
{
	struct hpm_raw_group *group;
	char name[256];
	int error = 0;

	snprintf(name, sizeof(name), "%d %s", asked->number, asked->name);
	group = begin_group(setup, name);
	setup->is_named = 0;
	for (int i = 0; !error && i < asked->n; i++)
		error = add_name(setup, asked->events[i]);
	group->n = setup->plan->header.n_events - group->first;
	return error;
}

/* Names between commas; those of pmu/a,b/ do not separate. */
static int add_list(struct setup *setup, const char *list)
{
	struct hpm_raw_group *group = begin_group(setup, list);
	char *copy = strdup(list), *word = copy;
	int error = copy ? 0 : -ENOMEM, in_slashes = 0;

	setup->is_named = 1;
	for (char *next = copy; !error && next; next++) {
		const char here = *next;

		in_slashes ^= here == '/';
		if (here && (here != ',' || in_slashes))
			continue;
		*next = '\0';
		word += strspn(word, " \t\n");
		for (char *end = word + strlen(word); end > word && strchr(" \t\n", end[-1]); end--)
			end[-1] = '\0';
		if (*word)
			error = add_name(setup, word);
		if (!here)
			break;
		word = next + 1;
	}
	free(copy);
	group->n = setup->plan->header.n_events - group->first;
	return error;
}

static int find_names(struct setup *setup)
{
	const char *set = getenv("HPM_EVENT_SET"), *events = getenv("GNOMON_EVENTS");
	struct hpm_constants *constants = &setup->engine->settings.constants;
	struct hpm_group *groups;
	char why[1024] = "";
	int n = 0, error = 0;

	set = set && *set ? set : NULL;
	events = events && *events ? events : NULL;
	snprintf(setup->plan->header.asked, sizeof(setup->plan->header.asked), "%s%s%s",
		 set ? set : "", set && events ? ", " : "", events ? events : "");
	groups = calloc(ASKED_MAX, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	if (set || !events)
		n = hpm_groups_find(set, constants, groups, ASKED_MAX, why, sizeof(why));
	if (n < 0) {
		hpm_error(NULL, HPM_BAD_GROUP, "HPM_EVENT_SET: %s", why);
		n = events ? 0
			   : hpm_groups_find(NULL, constants, groups, ASKED_MAX, why, sizeof(why));
	}
	for (int i = 0; !error && i < n; i++)
		error = add_group(setup, &groups[i]);
	free(groups);
	if (!error && events)
		error = add_list(setup, events);
	return error;
}

/* --- native events ---------------------------------------------------------------------------- */

static uint64_t slice_ns(void)
{
	return (uint64_t)hpm_env_number("HPM_SLICE_DURATION", 10, 30000, 100) * NS_PER_MS;
}

static void refuse(struct setup *setup, int e, const char *sentence)
{
	struct wanted *wanted = &setup->wanted[e];

	if (wanted->is_named)
		hpm_error(NULL, HPM_BAD_EVENT, "%s", sentence);
	copy_text(wanted->reason, sizeof(wanted->reason), without_name(sentence));
	gn_event_free(wanted->event);
	wanted->event = NULL;
}

/* All events of a group at the same time if that can be, else as many as can be counted. */
static void open_group(struct setup *setup, const struct hpm_raw_group *group, int together)
{
	const struct gn_event *events[HPM_RAW_EVENTS_MAX];
	struct gn_error_text why = {.text = ""};
	int n = 0, total = 0, *native = NULL;

	for (uint32_t e = group->first; e < group->first + group->n; e++) {
		if (!setup->wanted[e].event)
			continue;
		events[n++] = setup->wanted[e].event;
		total += setup->wanted[e].event->n;
	}
	if (together && n > 1)
		native = malloc((size_t)total * sizeof(*native));
	if (native && !gn_plan_add(&setup->native, events, n, 1, native, &why)) {
		int *next = native;

		for (uint32_t e = group->first; e < group->first + group->n; e++) {
			struct wanted *wanted = &setup->wanted[e];

			for (int i = 0; wanted->event && i < wanted->event->n; i++)
				wanted->at[i] = *next++;
		}
		free(native);
		return;
	}
	free(native);
	for (uint32_t e = group->first; e < group->first + group->n; e++) {
		struct wanted *wanted = &setup->wanted[e];
		const struct gn_event *one = wanted->event;

		if (one && gn_plan_add(&setup->native, &one, 1, 0, wanted->at, &why))
			refuse(setup, (int)e, why.text);
	}
}

static int open_natives(struct setup *setup)
{
	const struct hpm_raw_header *header = &setup->plan->header;
	struct gn_options options = GN_OPTIONS_INIT;
	const struct gn_target self = {(int)gettid(), -1, NULL};
	int failed;

	if (!gn_self())
		return -ENOMEM;
	options.multiplex = header->n_groups > 1;
	options.limit = hpm_group_limit;
	options.slice_ns = setup->engine->layout.slice_ns;
	failed = gn_plan_begin(&setup->native, &options, &self, 1, 1);
	if (failed) {
		struct gn_error_text why;

		memset(&setup->native, 0, sizeof(setup->native));
		gn_refusal(failed, 0, &why);
		for (uint32_t e = 0; e < header->n_events; e++) {
			if (setup->wanted[e].event)
				refuse(setup, (int)e, why.text);
		}
		return 0;
	}
	for (uint32_t g = 0; g < header->n_groups; g++)
		open_group(setup, &setup->plan->group[g], options.multiplex);
	return 0;
}

/* --- what it comes to ------------------------------------------------------------------------- */

/* Packs as the kernel is to have them; without turns nobody needs the clock. */
static int lay_out(struct setup *setup)
{
	const struct gn_plan *native = &setup->native;
	struct hpm_layout *layout = &setup->engine->layout;
	struct hpm_raw_header *header = &setup->plan->header;
	const int has_turns = native->is_multiplexed && gn_plan_has_turns(native);
	const int skip = native->has_clock && !has_turns && native->pack[0]->n == 1;

	layout->n_packs = native->n_packs - skip;
	layout->has_clock = has_turns;
	layout->rotates = has_turns && gn_plan_rotates(native, layout->slice_ns);
	layout->pack =
		hpm_arena_alloc(setup->engine, (size_t)native->n_packs * sizeof(*layout->pack));
	if (!layout->pack || layout->n_packs > HPM_RAW_PACKS_MAX)
		return -ENOMEM;
	for (int p = 0; p < layout->n_packs; p++) {
		const struct gn_pack *from = native->pack[p + skip];
		struct hpm_counter_group *pack = &layout->pack[p];

		pack->n = from->n;
		pack->pmu = from->pmu;
		pack->is_turning = has_turns && gn_pack_takes_turns(native, p + skip);
		pack->word = layout->n_words;
		layout->n_words += 3 + from->n;
		pack->spec = hpm_arena_alloc(setup->engine, (size_t)from->n * sizeof(*pack->spec));
		if (!pack->spec)
			return -ENOMEM;
		for (int i = 0; i < from->n; i++)
			pack->spec[i] = native->native[from->native[i]].spec;
		setup->plan->pack[p] = (struct hpm_raw_pack){
			(uint32_t)pack->n, (uint32_t)pack->word, (uint32_t)pack->is_turning, 0};
	}
	layout->n_words += HPM_USAGE_WORDS;
	if (layout->n_words > HPM_RAW_WORDS_MAX)
		return -ENOMEM;
	header->n_packs = (uint32_t)layout->n_packs;
	header->n_words = (uint32_t)layout->n_words;
	header->flags |= has_turns ? HPM_RAW_TURNS : 0;
	return 0;
}

static uint32_t modes_of(const struct gn_native *native, const struct gn_event *event)
{
	const uint32_t exclude = native->spec.exclude;

	if (event->flags & GN_EVENT_EVERY_MODE)
		return HPM_MODE_ALL;
	return (exclude & GN_EXCLUDE_USER ? 0u : HPM_MODE_USER) |
	       (exclude & GN_EXCLUDE_KERNEL ? 0u : HPM_MODE_KERNEL) |
	       (exclude & GN_EXCLUDE_HYPERVISOR ? 0u : HPM_MODE_HYPERVISOR);
}

static void describe(struct hpm_raw_event *raw, const struct gn_event *event)
{
	struct gn_event_info info = {.size = sizeof(info)};
	struct gn_component_info component = {.size = sizeof(component)};

	if (!gn_event_describe(raw->name, &info))
		copy_text(raw->description, sizeof(raw->description), info.description);
	if (!gn_component_describe(event->component, &component))
		copy_text(raw->component, sizeof(raw->component), component.name);
	copy_text(raw->unit, sizeof(raw->unit), event->unit);
}

static void fill_in(struct setup *setup, uint32_t e)
{
	const struct wanted *wanted = &setup->wanted[e];
	const struct gn_event *event = wanted->event;
	const struct hpm_layout *layout = &setup->engine->layout;
	const int skip = setup->native.n_packs - layout->n_packs;
	struct hpm_raw_event *raw = &setup->plan->event[e];

	copy_text(raw->reason, sizeof(raw->reason), wanted->reason);
	raw->scale = 1;
	if (!event)
		return;
	describe(raw, event);
	raw->scale = event->scale;
	raw->modes = modes_of(&setup->native.native[wanted->at[0]], event);
	raw->flags = event->n > 1 || event->ops ? HPM_IS_DERIVED : 0;
	raw->n_natives = (uint32_t)event->n;
	raw->n_ops = (uint32_t)event->ops;
	for (int i = 0; i < event->n; i++) {
		const struct gn_native *native = &setup->native.native[wanted->at[i]];
		const int p = native->group - skip;

		raw->native[i].pack = (uint32_t)p;
		raw->native[i].word = (uint32_t)(layout->pack[p].word + 3 + native->index);
		raw->native[i].factor = event->factor ? event->factor[i] : 1;
	}
	for (int i = 0; i < event->ops; i++)
		raw->op[i] =
			(struct hpm_raw_op){(uint32_t)event->op[i].kind,
					    (uint32_t)event->op[i].native, event->op[i].constant};
}

/* HPM_* and what else the output depends on, so that a repair knows it. */
static int keep_environment(struct hpm_raw_plan *plan)
{
	size_t bytes = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass) {
			plan->environment = malloc(bytes ? bytes : 1);
			if (!plan->environment)
				return -ENOMEM;
			bytes = 0;
		}
		for (char **variable = environ; *variable; variable++) {
			const size_t length = strlen(*variable) + 1;

			if (strncmp(*variable, "HPM_", 4) != 0 ||
			    bytes + length > HPM_RAW_ENVIRONMENT_MAX)
				continue;
			if (pass)
				memcpy(plan->environment + bytes, *variable, length);
			bytes += length;
		}
	}
	plan->header.environment_bytes = bytes;
	return 0;
}

int hpm_event_setup(struct hpm_engine *engine, struct hpm_raw_plan *plan)
{
	struct setup setup = {.engine = engine, .plan = plan};
	int error;

	engine->layout.slice_ns = slice_ns();
	error = find_names(&setup);
	if (!error)
		error = open_natives(&setup);
	if (!error)
		error = lay_out(&setup);
	for (uint32_t e = 0; !error && e < plan->header.n_events; e++)
		fill_in(&setup, e);
	for (uint32_t e = 0; e < plan->header.n_events; e++) {
		if (setup.wanted[e].event)
			gn_event_free(setup.wanted[e].event);
	}
	gn_plan_end(&setup.native);
	free(setup.wanted);
	return error ? error : keep_environment(plan);
}
