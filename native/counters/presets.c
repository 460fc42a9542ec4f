/* From the name of a preset to events that can be opened. */
#include "preset_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm.h"
#define PREFIX "PAPI_"

/* How deep presets may be made of presets, and how long a formula may become of it. */
#define NESTED_MAX 8
#define STEPS_MAX 65536

#define CHOOSE_NATIVES "choose native events of this PMU (gnomon events --component cpu)"

static const char *nth(const char *list, int index)
{
	while (index--)
		list += strlen(list) + 1;
	return list;
}

static int is_standard_name(const char *name)
{
	return gn_begins_folded(name, PREFIX);
}

static void in_capitals(const char *name, char upper[GN_NAME_MAX])
{
	snprintf(upper, GN_NAME_MAX, "%s", name);
	for (char *at = upper; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
}

static int find_ready(const char *base, const struct gn_core *core, struct gn_preset *preset)
{
	char upper[GN_NAME_MAX];
	int number;

	if (gn_user_preset_find(base, core, preset))
		return 1;
	if (!is_standard_name(base))
		return 0;
	in_capitals(base, upper);
	if (gn_user_preset_find(upper, core, preset))
		return 1;
	number = gn_preset_number(upper);
	if (number >= 0)
		gn_preset_shipped(number, core, preset);
	return number >= 0;
}

int gn_preset_find(const char *base, const struct gn_core *core, struct gn_preset *preset,
		   struct gn_error_text *why)
{
	const int failed = gn_user_presets_ready(why);

	return failed ? failed : find_ready(base, core, preset);
}

/* A preset's native events, each once, and the formula over them. */
struct flat {
	struct gn_query *query;
	const struct gn_core *core;
	const char *within[NESTED_MAX + 1];
	int depth;
	int n;
	const char *native[GN_NATIVES_MAX];
};

static int native_number(struct flat *flat, const char *name)
{
	int number = 0;

	while (number < flat->n && strcmp(flat->native[number], name))
		number++;
	if (number == GN_NATIVES_MAX) {
		gn_error_unavailable(flat->query->why, GN_ENOEVNT, 0, flat->query->name,
				     "it needs more than %d native events", GN_NATIVES_MAX);
		return gn_error_remedy(flat->query->why, "split it into several presets");
	}
	flat->native[number] = name;
	flat->n += number == flat->n;
	return number;
}

static int flatten(struct flat *flat, const struct gn_preset *preset, struct gn_program *program);

/* The program of one of a preset's events, which may be a preset itself. */
static int flatten_event(struct flat *flat, const char *event, struct gn_program *program)
{
	struct gn_preset inner;
	int number;

	if (!strpbrk(event, ":/") && find_ready(event, flat->core, &inner))
		return flatten(flat, &inner, program);
	number = native_number(flat, event);
	if (number < 0)
		return number;
	program->op = calloc(1, sizeof(*program->op));
	if (!program->op)
		return gn_error_memory(flat->query->why, flat->query->name);
	gn_program_push(program, GN_OP_NATIVE, number, 0);
	return GN_OK;
}

static int is_within(const struct flat *flat, const char *name)
{
	for (int i = 0; i < flat->depth; i++)
		if (!strcmp(flat->within[i], name))
			return 1;
	return 0;
}

/* The outer program with the parts' in the places of its natives. */
static int join(const struct flat *flat, const struct gn_preset *preset,
		const struct gn_program *parts, struct gn_program *program)
{
	const struct gn_program *outer = &preset->program;
	size_t steps = 0;

	for (int i = 0; i < outer->n; i++)
		steps += outer->op[i].kind == GN_OP_NATIVE ? (size_t)parts[outer->op[i].native].n
							   : 1;
	if (steps > STEPS_MAX) {
		gn_error_unavailable(flat->query->why, GN_ENOEVNT, 0, flat->query->name,
				     "its formula has more than %d steps", STEPS_MAX);
		return gn_error_remedy(flat->query->why, "correct %s", preset->source);
	}
	program->op = calloc(steps ? steps : 1, sizeof(*program->op));
	if (!program->op)
		return gn_error_memory(flat->query->why, flat->query->name);
	for (int i = 0; i < outer->n; i++) {
		const struct gn_op *op = &outer->op[i];

		if (op->kind != GN_OP_NATIVE) {
			program->op[program->n++] = *op;
			continue;
		}
		for (int j = 0; j < parts[op->native].n; j++)
			program->op[program->n++] = parts[op->native].op[j];
	}
	return GN_OK;
}

/* A of B of A: the presets that lead to it. */
static int made_of_itself(const struct flat *flat, const struct gn_preset *preset)
{
	char chain[(NESTED_MAX + 2) * 32];
	size_t length = 0;

	for (int i = 0; i < flat->depth && length < sizeof(chain); i++)
		length += (size_t)snprintf(chain + length, sizeof(chain) - length, "%s of ",
					   flat->within[i]);
	gn_error_unavailable(flat->query->why, GN_ENOEVNT, 0, flat->query->name,
			     "preset %s is defined by itself (%s%s)", preset->name, chain,
			     preset->name);
	return gn_error_remedy(flat->query->why, "correct %s", preset->source);
}

static int flatten(struct flat *flat, const struct gn_preset *preset, struct gn_program *program)
{
	struct gn_program *parts;
	int failed = GN_OK;

	if (flat->depth > NESTED_MAX || is_within(flat, preset->name))
		return made_of_itself(flat, preset);
	if (!preset->n) {
		gn_error_unavailable(flat->query->why, GN_ENOEVNT, 0, flat->query->name, "%s%s%s",
				     flat->depth ? preset->name : "", flat->depth ? ": " : "",
				     preset->reason);
		return gn_error_remedy(flat->query->why, CHOOSE_NATIVES);
	}
	parts = calloc((size_t)preset->n, sizeof(*parts));
	if (!parts)
		return gn_error_memory(flat->query->why, flat->query->name);
	flat->within[flat->depth++] = preset->name;
	for (int i = 0; !failed && i < preset->n; i++)
		failed = flatten_event(flat, nth(preset->events, i), &parts[i]);
	flat->depth--;
	if (!failed)
		failed = join(flat, preset, parts, program);
	for (int i = 0; i < preset->n; i++)
		free(parts[i].op);
	free(parts);
	return failed;
}

/* Leaves out natives that the formula does not use. */
static void renumber(struct flat *flat, struct gn_program *program)
{
	int number[GN_NATIVES_MAX], used = 0;

	memset(number, 0, sizeof(number));
	for (int i = 0; i < program->n; i++)
		if (program->op[i].kind == GN_OP_NATIVE)
			number[program->op[i].native] = 1;
	for (int i = 0; i < flat->n; i++) {
		if (!number[i])
			continue;
		flat->native[used] = flat->native[i];
		number[i] = used++;
	}
	flat->n = used;
	for (int i = 0; i < program->n; i++)
		if (program->op[i].kind == GN_OP_NATIVE)
			program->op[i].native = number[program->op[i].native];
}

/* A native event that was found. */
struct native {
	struct gn_event_spec spec;
	unsigned int flags;
	int component;
	double scale;
	char unit[16];
};

/* Whether libpfm4 has a table of one of a core's models. */
static int is_in_libpfm(const struct gn_pfm *pfm, const struct gn_core *core)
{
	for (int id = 0; id < GN_PFM_PMUS; id++) {
		pfm_pmu_info_t pmu;

		for (int i = 0; i < core->n_models && gn_pfm_pmu(pfm, id, &pmu); i++)
			if (!strcmp(pmu.name, core->model[i]))
				return 1;
	}
	return 0;
}

/* Says why a native event was not found: the cause of a sentence about it, if there is one. */
static int not_found(const struct flat *flat, const char *event, const struct gn_error_text *said)
{
	struct gn_error_text *why = flat->query->why;
	const struct gn_pfm *pfm;
	const char *problem;

	if (said)
		gn_error_unavailable(why, GN_ENOEVNT, 0, flat->query->name,
				     "its native event '%s': %s", event,
				     said->text + said->cause.begin);
	else
		gn_error_unavailable(why, GN_ENOEVNT, 0, flat->query->name,
				     "its native event '%s' is not known here", event);
	pfm = gn_pfm(&problem);
	if (!pfm)
		return gn_error_remedy(why, "install libpfm4 (Debian: apt-get install libpfm4), or "
					    "see gnomon doctor");
	if (flat->core->n_models && !is_in_libpfm(pfm, flat->core))
		return gn_error_remedy(why,
				       "install a libpfm4 with the tables of %s: this one has none "
				       "of it",
				       flat->core->model[0]);
	return gn_error_remedy(why, "check its name (gnomon events lists those here), or install a "
				    "newer libpfm4 that knows it");
}

/* A native event that cannot be part of a preset. */
static int not_countable(const struct flat *flat, const struct gn_query *query, int is_several)
{
	struct gn_error_text *why = flat->query->why;

	if (is_several)
		gn_error_unavailable(why, GN_ENOEVNT, 0, flat->query->name,
				     "its native event '%s' stands for several events (%s, %s ...)",
				     query->name, query->out[0]->name, query->out[1]->name);
	else
		gn_error_unavailable(why, GN_ENOEVNT, 0, flat->query->name,
				     "its native event '%s' belongs to component %s, which is not "
				     "counted through perf",
				     query->name, gn_other_component(query));
	return gn_error_remedy(why,
			       "define the preset with single events of components cpu and kernel");
}

/* Any component's event of the name. */
static int find_anywhere(const struct flat *flat, const char *event, struct native *native)
{
	struct gn_event *events[2];
	struct gn_error_text said = {.text = ""};
	struct gn_query query = {.places = flat->query->places,
				 .name = event,
				 .out = events,
				 .max = 2,
				 .why = &said};
	int failed = gn_modifiers(event, query.base, &query.modifiers, &said);

	if (!failed)
		failed = gn_native_resolve(&query);
	if (query.n > 1)
		failed = not_countable(flat, &query, 1);
	else if (gn_other_component(&query))
		failed = not_countable(flat, &query, 0);
	else if (failed || !query.n)
		failed = not_found(flat, event, failed ? &said : NULL);
	if (!failed) {
		native->spec = events[0]->spec[0];
		native->flags = events[0]->flags;
		native->component = events[0]->component;
		native->scale = events[0]->scale;
		snprintf(native->unit, sizeof(native->unit), "%s", events[0]->unit);
	}
	gn_query_drop(&query);
	return failed;
}

static int find_native(const struct flat *flat, const char *event, struct native *native)
{
	struct gn_error_text said;
	struct gn_modifiers modifiers = {.exclude = 0};
	char base[GN_NAME_MAX];
	int is_found;

	memset(native, 0, sizeof(*native));
	native->flags = GN_EVENT_HARDWARE;
	native->component = GN_COMPONENT_CPU;
	native->scale = 1;
	if (strlen(event) >= GN_NAME_MAX)
		return not_found(flat, event, NULL);
	is_found = gn_core_encode(flat->core, event, &native->spec);
	if (!is_found) {
		if (gn_modifiers(event, base, &modifiers, &said))
			return not_found(flat, event, &said);
		is_found = gn_core_generic(flat->core, base, &native->spec) ||
			   gn_core_encode(flat->core, base, &native->spec);
	}
	if (!is_found)
		return find_anywhere(flat, event, native);
	native->spec.exclude |= modifiers.exclude;
	return GN_OK;
}

/* Natives that count in steps of their own: N0 becomes N0 * step. */
static int put_scales(struct gn_program *program, const struct native *natives)
{
	struct gn_program scaled = {.n = 0};

	scaled.op = calloc(3 * (size_t)program->n + 1, sizeof(*scaled.op));
	if (!scaled.op)
		return -1;
	for (int i = 0; i < program->n; i++) {
		const struct gn_op *op = &program->op[i];

		scaled.op[scaled.n++] = *op;
		if (op->kind != GN_OP_NATIVE || natives[op->native].scale == 1)
			continue;
		gn_program_push(&scaled, GN_OP_CONSTANT, 0, natives[op->native].scale);
		gn_program_push(&scaled, GN_OP_MULTIPLY, 0, 0);
	}
	free(program->op);
	*program = scaled;
	return 0;
}

/* The unit that a preset is given, or that all natives of a plain sum have. */
static const char *unit_of(const struct gn_preset *preset, const struct native *natives, int n)
{
	const char *kind;

	if (*preset->unit)
		return preset->unit;
	kind = gn_program_kind(&preset->program, preset->formula, preset->n);
	if (strcmp(kind, "not derived") && strcmp(kind, "sum") && strcmp(kind, "difference"))
		return "";
	for (int i = 1; i < n; i++)
		if (strcmp(natives[i].unit, natives[0].unit))
			return "";
	return natives[0].unit;
}

static void fill(struct gn_event *event, const struct flat *flat, const struct native *natives,
		 const int64_t *factor, const struct gn_modifiers *modifiers)
{
	unsigned int any = 0, all = ~0u;
	int term = 0;

	event->component = natives[0].component;
	for (int i = 0; i < flat->n; i++) {
		any |= natives[i].flags;
		all &= natives[i].flags;
		if (natives[i].component != event->component)
			event->component = GN_COMPONENT_CPU;
		if (factor && !factor[i])
			continue;
		event->spec[term] = natives[i].spec;
		event->spec[term].exclude |= modifiers->exclude;
		event->factor[term] = factor ? factor[i] : 1;
		snprintf(event->native[term], GN_NAME_MAX, "%s", flat->native[i]);
		term++;
	}
	event->n = term;
	event->flags = GN_EVENT_PRESET | (all & GN_EVENT_EVERY_MODE);
	event->flags |= any & (GN_EVENT_HARDWARE | GN_EVENT_TRACEPOINT | GN_EVENT_KERNEL_ONLY);
	event->domain = all & GN_EVENT_EVERY_MODE ? 0 : modifiers->domain;
	event->flags |= event->domain ? GN_EVENT_MODIFIED : 0;
}

static int make(const struct flat *flat, const struct gn_preset *preset, struct gn_program *program,
		const struct native *natives, const struct gn_modifiers *modifiers,
		struct gn_event **event)
{
	int64_t factor[GN_NATIVES_MAX];
	int is_sum, is_scaled = 0;

	for (int i = 0; i < flat->n; i++)
		is_scaled |= natives[i].scale != 1;
	if (is_scaled && put_scales(program, natives))
		return gn_error_memory(flat->query->why, flat->query->name);
	if (!gn_program_is_sound(program, flat->n)) {
		gn_error_unavailable(flat->query->why, GN_ENOEVNT, 0, flat->query->name,
				     "its formula holds more than %d numbers at a time",
				     GN_STACK_MAX);
		return gn_error_remedy(flat->query->why, "correct %s", preset->source);
	}
	is_sum = gn_program_factors(program, flat->n, factor);
	*event = gn_event_new(flat->n, is_sum ? 0 : program->n);
	if (!*event)
		return gn_error_memory(flat->query->why, flat->query->name);
	fill(*event, flat, natives, is_sum ? factor : NULL, modifiers);
	(*event)->preset = preset->name;
	(*event)->description = preset->description;
	(*event)->preset_unit = preset->unit;
	snprintf((*event)->unit, sizeof((*event)->unit), "%s", unit_of(preset, natives, flat->n));
	for (int i = 0; i < (*event)->ops; i++)
		(*event)->op[i] = program->op[i];
	return GN_OK;
}

/* What a preset is on one kind of core. */
static int preset_event(struct gn_query *query, const struct gn_preset *preset,
			const struct gn_core *core, const struct gn_modifiers *modifiers,
			struct gn_event **event)
{
	struct flat flat = {.query = query, .core = core};
	struct native natives[GN_NATIVES_MAX];
	struct gn_program program = {.n = 0};
	int failed = flatten(&flat, preset, &program);

	if (!failed)
		renumber(&flat, &program);
	for (int i = 0; !failed && i < flat.n; i++)
		failed = find_native(&flat, flat.native[i], &natives[i]);
	if (!failed)
		failed = make(&flat, preset, &program, natives, modifiers, event);
	free(program.op);
	return failed;
}

/* NAME[:MODIFIERS][@PMU] */
struct asked {
	char base[GN_NAME_MAX];
	struct gn_modifiers modifiers;
	const char *pmu; /* NULL: each kind of core */
};

static int ask(const struct gn_query *query, struct asked *asked)
{
	char name[GN_NAME_MAX], *suffix;

	snprintf(name, sizeof(name), "%s", query->name);
	suffix = strchr(name, '@');
	if (suffix)
		*suffix = '\0';
	asked->pmu = suffix && suffix[1] ? strchr(query->name, '@') + 1 : NULL;
	return gn_modifiers(name, asked->base, &asked->modifiers, query->why);
}

/* Words, as many as there is room for. */
struct words {
	int n;
	char text[128];
};

static void add_word(struct words *words, const char *between, const char *word)
{
	const size_t length = strlen(words->text);

	snprintf(words->text + length, sizeof(words->text) - length, "%s%s",
		 words->n++ ? between : "", word);
}

static int no_such_preset(const struct gn_query *query, const char *base)
{
	struct gn_nearest nearest;

	gn_nearest_begin(&nearest, base);
	gn_preset_each(gn_nearest_see, &nearest);
	gn_error_event(query->why, GN_ENOEVNT, query->name, "no such preset");
	return gn_nearest_suggest(&nearest, query->why, "`gnomon presets` lists them");
}

/* Whether a user's file has the name, but for other cores than these. */
static int is_elsewhere(const char *name, const struct gn_core *cores, int n,
			struct gn_preset *preset)
{
	struct gn_preset here;

	if (!gn_user_preset_named(name, preset) || !preset->n_pmus)
		return 0;
	for (int i = 0; i < n; i++)
		if (gn_user_preset_find(name, &cores[i], &here))
			return 0;
	return 1;
}

/* The same of a name as it was typed or, as standard names are, in capitals. */
static int is_users_elsewhere(const char *base, const struct gn_core *cores, int n,
			      struct gn_preset *preset)
{
	char upper[GN_NAME_MAX];

	in_capitals(base, upper);
	return is_elsewhere(base, cores, n, preset) || is_elsewhere(upper, cores, n, preset);
}

/* The name of a preset that no core here has: its user's file may have it for others. */
static int no_definition(const struct gn_query *query, const char *base,
			 const struct gn_core *cores, int n)
{
	struct words pmus = {.n = 0}, here = {.n = 0};
	struct gn_preset preset;

	if (!is_users_elsewhere(base, cores, n, &preset))
		return is_standard_name(base) ? no_such_preset(query, base) : GN_OK;
	for (int i = 0; i < preset.n_pmus; i++)
		add_word(&pmus, " and ", preset.pmus[i]);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < cores[i].n_models; j++)
			add_word(&here, " or ", cores[i].model[j]);
	gn_error_unavailable(query->why, GN_ENOEVNT, 0, query->name,
			     "%s defines it for PMU %s only, %s%s", preset.source, pmus.text,
			     here.n ? "not for " : "",
			     here.n ? here.text : "and libpfm4 names no PMU of this CPU");
	return gn_error_remedy(query->why, "add this PMU to the file, if its events mean the same");
}

static const char *core_name(const struct gn_core *core)
{
	return *core->pmu.name ? core->pmu.name : "cpu";
}

static int no_such_core(const struct gn_query *query, const char *pmu, const struct gn_core *cores,
			int n)
{
	char names[GN_CORES_MAX][GN_NAME_MAX];

	for (int i = 0; i < n; i++)
		snprintf(names[i], sizeof(names[i]), "%s", core_name(&cores[i]));
	gn_error_event(query->why, GN_ENOEVNT, query->name, "this machine has no core PMU '%s'",
		       pmu);
	return gn_error_suggest(query->why, n, names);
}

/* What an event is called on one kind of core. */
static void label_on(const struct gn_query *query, const struct gn_core *core, int is_only,
		     char *label, size_t size)
{
	snprintf(label, size, "%s%s%s", query->name, is_only ? "" : "@",
		 is_only ? "" : core_name(core));
}

/* Adds what a preset is on one kind of core; 1: it is the same on every kind. */
static int add_on(struct gn_query *query, const struct gn_preset *preset,
		  const struct gn_core *core, const struct asked *asked, int is_only)
{
	struct gn_event *event;
	int failed = preset_event(query, preset, core, &asked->modifiers, &event);
	char label[GN_NAME_MAX + GN_PMU_NAME_MAX];
	int is_same;

	if (failed)
		return failed;
	is_same = !(event->flags & GN_EVENT_HARDWARE);
	label_on(query, core, is_only || is_same, label, sizeof(label));
	if (strlen(label) >= sizeof(event->name)) {
		gn_event_free(event);
		gn_error_event(query->why, GN_EINVAL, query->name,
			       "its name is too long for this hybrid CPU");
		return gn_error_remedy(query->why, "use a shorter one");
	}
	memcpy(event->name, label, strlen(label) + 1);
	if (is_same)
		gn_query_drop(query);
	failed = gn_query_add(query, event);
	return failed ? failed : is_same;
}

static int lacks_on(const struct gn_query *query, const struct gn_core *core)
{
	gn_error_unavailable(query->why, GN_ENOEVNT, 0, query->name,
			     "no such preset for the cores of %s", core_name(core));
	return gn_error_remedy(query->why, CHOOSE_NATIVES);
}

/*
 * Of the kinds of cores those that have the event: one without it does not hide the others. What
 * the first one lacks is said where all of them do.
 */
static int add_on_cores(struct gn_query *query, const struct asked *asked,
			const struct gn_core *cores, int n)
{
	struct gn_error_text first = {.text = ""};
	char label[GN_NAME_MAX + GN_PMU_NAME_MAX];
	int first_error = GN_OK, is_any = 0, is_core = 0;
	const int is_only = n == 1 || asked->pmu;

	for (int i = 0; i < n; i++) {
		struct gn_preset preset;
		const int is_ready = find_ready(asked->base, &cores[i], &preset);
		int failed;

		is_any |= is_ready;
		if (asked->pmu && strcmp(asked->pmu, core_name(&cores[i])))
			continue;
		is_core = 1;
		if (is_ready)
			failed = add_on(query, &preset, &cores[i], asked, is_only);
		else
			failed = lacks_on(query, &cores[i]);
		if (failed == 1)
			return GN_OK;
		if (failed == GN_ENOMEM || failed == GN_ECOUNT || failed == GN_EINVAL)
			return failed;
		if (failed && query->lacks) {
			label_on(query, &cores[i], is_only, label, sizeof(label));
			query->lacks(query->context, label, query->why);
		}
		if (failed && !first_error) {
			first = *query->why;
			first_error = failed;
		}
	}
	if (!is_any)
		return no_definition(query, asked->base, cores, n);
	if (!is_core)
		return no_such_core(query, asked->pmu, cores, n);
	if (query->n)
		return GN_OK;
	*query->why = first;
	return first_error;
}

int gn_preset_resolve(struct gn_query *query)
{
	struct gn_core *cores;
	struct asked asked;
	int failed = gn_user_presets_ready(query->why);
	int n;

	if (!failed)
		failed = ask(query, &asked);
	if (failed || (!is_standard_name(asked.base) && !gn_user_preset_count()))
		return failed;
	cores = calloc(GN_CORES_MAX, sizeof(*cores));
	n = cores ? gn_cores(query->places, cores) : -ENOMEM;
	failed = n < 0 ? gn_error_memory(query->why, query->name)
		       : add_on_cores(query, &asked, cores, n);
	free(cores);
	return failed;
}

int gn_preset_each(gn_event_seen *seen, void *context)
{
	struct gn_preset preset;
	int stop = 0;

	for (int i = 0; !stop && gn_user_preset_at(i, &preset); i++)
		stop = seen(context, preset.name, preset.unit, preset.description);
	for (int i = 0; !stop && i < gn_preset_meaning_count; i++)
		stop = seen(context, gn_preset_texts + gn_preset_meanings[i].name,
			    gn_preset_texts + gn_preset_meanings[i].unit,
			    gn_preset_texts + gn_preset_meanings[i].description);
	return stop;
}
