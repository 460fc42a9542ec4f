/* What there is: components, their events, presets; and what is known about each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_codes.h"
#include "listed_events.h"
#include "presets.h"
#include "resolve_cache.h"

static int bad_component(int component)
{
	return gn_fail(GN_ENOCMP, "component %d: there are %d; count from 0", component,
		       GN_COMPONENTS);
}

static int bad_index(const char *what, int index, int n)
{
	return gn_fail(GN_EINVAL, "%s %d: there are %d; count from 0", what, index, n);
}

static int no_memory(const char *what)
{
	return gn_fail(GN_ENOMEM, "%s: out of memory; free some memory", what);
}

/* Whether the caller's struct has the size of this version's. */
static int check_size(size_t size, size_t expected, const char *what)
{
	if (size == expected)
		return GN_OK;
	return gn_fail(GN_EINVAL,
		       "%s.size is %zu: this library's has %zu bytes; set it to sizeof(struct %s)",
		       what, size, expected, what);
}

int gn_event_count(int component)
{
	const struct gn_list *list;

	if (component < 0 || component >= GN_COMPONENTS)
		return bad_component(component);
	list = gn_list_of(component);
	return list ? list->n : no_memory("the list of events");
}

static void begin(struct gn_event_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
}

/* Names separated by commas; what does not fit is left out. */
static void append(char *text, size_t size, const char *name)
{
	const size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length ? "," : "", name);
}

int gn_event_at(int component, int index, struct gn_event_info *info)
{
	const struct gn_listed *event;
	const struct gn_list *list;
	int failed;

	if (component < 0 || component >= GN_COMPONENTS)
		return bad_component(component);
	failed = info ? check_size(info->size, sizeof(*info), "gn_event_info")
		      : gn_fail(GN_EINVAL, "info: NULL; give a struct gn_event_info");
	if (failed)
		return failed;
	list = gn_list_of(component);
	if (!list)
		return no_memory("the list of events");
	if (index < 0 || index >= list->n)
		return bad_index("event", index, list->n);
	event = &list->event[index];
	begin(info);
	snprintf(info->name, sizeof(info->name), "%s", event->name);
	snprintf(info->unit, sizeof(info->unit), "%s", event->unit);
	snprintf(info->description, sizeof(info->description), "%s", event->description);
	snprintf(info->definition, sizeof(info->definition), "%s", event->name);
	snprintf(info->kind, sizeof(info->kind), "not derived");
	info->component = component;
	info->natives = 1;
	info->flags = gn_listed_flags(component, event->name);
	info->code = gn_code_of(event->name, info->flags);
	return info->code ? GN_OK : no_memory(event->name);
}

int gn_preset_count(void)
{
	struct gn_error_text why;
	const int failed = gn_user_presets_ready(&why);

	if (failed)
		return gn_fail(failed, "%s", why.text);
	return gn_preset_meaning_count + gn_user_preset_count();
}

/* The definition for the first kind of core that has one. */
static int define(const char *name, struct gn_preset *preset, struct gn_error_text *why)
{
	struct gn_core *cores = calloc(GN_CORES_MAX, sizeof(*cores));
	const int n = cores ? gn_cores(&gn_this_machine, cores) : -1;
	int is_defined = n < 0 ? gn_error_memory(why, name) : 0;

	for (int i = 0; i < n && !is_defined; i++)
		is_defined = gn_preset_find(name, &cores[i], preset, why);
	for (int i = 1; i < n && is_defined > 0 && !preset->n; i++) {
		struct gn_preset other;

		if (gn_preset_find(name, &cores[i], &other, why) > 0 && other.n)
			*preset = other;
	}
	free(cores);
	return is_defined;
}

static void describe_preset(const struct gn_preset *preset, struct gn_event_info *info)
{
	const char *event = preset->events;

	snprintf(info->unit, sizeof(info->unit), "%s", preset->unit);
	snprintf(info->formula, sizeof(info->formula), "%s", preset->formula);
	snprintf(info->description, sizeof(info->description), "%s%s%s", preset->description,
		 *preset->differs ? "; differs: " : "", preset->differs);
	if (preset->n)
		snprintf(info->kind, sizeof(info->kind), "%s",
			 gn_program_kind(&preset->program, preset->formula, preset->n));
	info->natives = preset->n;
	info->definition[0] = '\0';
	for (int i = 0; i < preset->n; i++) {
		append(info->definition, sizeof(info->definition), event);
		event += strlen(event) + 1;
	}
}

int gn_preset_at(int index, struct gn_event_info *info)
{
	const int n = gn_preset_count();
	const int standard = index - (n - gn_preset_meaning_count);
	struct gn_error_text why;
	struct gn_preset preset;
	int failed;

	if (n < 0)
		return n;
	failed = info ? check_size(info->size, sizeof(*info), "gn_event_info")
		      : gn_fail(GN_EINVAL, "info: NULL; give a struct gn_event_info");
	if (failed)
		return failed;
	if (index < 0 || index >= n)
		return bad_index("preset", index, n);
	begin(info);
	if (standard >= 0) {
		snprintf(info->name, sizeof(info->name), "%s",
			 gn_preset_texts + gn_preset_meanings[standard].name);
		failed = define(info->name, &preset, &why);
		if (failed < 0)
			return gn_fail(failed, "%s", why.text);
	} else if (gn_user_preset_at(index, &preset)) {
		snprintf(info->name, sizeof(info->name), "%s", preset.name);
	} else {
		return bad_index("preset", index, n);
	}
	describe_preset(&preset, info);
	info->flags = GN_EVENT_PRESET | GN_EVENT_HARDWARE;
	info->component = GN_COMPONENT_CPU;
	info->code = gn_code_of(info->name, info->flags);
	return info->code ? GN_OK : no_memory(info->name);
}

int gn_preset_code(const char *name, uint32_t *code)
{
	struct gn_error_text why;
	struct gn_preset preset;
	int is_defined;

	if (!name || !code)
		return gn_fail(GN_EINVAL, "name or code: NULL; give both");
	if (strnlen(name, GN_NAME_MAX) == GN_NAME_MAX)
		return gn_fail(GN_ENOTPRESET,
			       "'%.64s...': too long for a preset; see `gnomon "
			       "presets`",
			       name);
	is_defined = define(name, &preset, &why);
	if (is_defined < 0)
		return gn_fail(is_defined, "%s", why.text);
	if (!is_defined)
		return gn_fail(GN_ENOTPRESET,
			       "'%s': not a preset; `gnomon presets` lists them, gn_event_code() "
			       "takes any event",
			       name);
	*code = gn_code_of(preset.name, GN_EVENT_PRESET);
	return *code ? GN_OK : no_memory(name);
}

/* Resolves a name, which can stand for many events, for its first. */
static int first_of(const char *name, struct gn_event **event, int *n, struct gn_error_text *why)
{
	struct gn_event **out;
	int failed, room = 64;

	do {
		out = calloc((size_t)room, sizeof(*out));
		if (!out)
			return gn_error_memory(why, name);
		failed = gn_resolve(name, out, room, n, why);
		*event = failed ? NULL : out[0];
		for (int i = 1; i < *n; i++)
			gn_event_free(out[i]);
		free(out);
		room *= 8;
	} while (failed == GN_ECOUNT && room < 1 << 20);
	return failed;
}

int gn_event_code(const char *name, uint32_t *code)
{
	struct gn_event *event;
	struct gn_error_text why;
	int failed, n;

	if (!name || !code)
		return gn_fail(GN_EINVAL, "name or code: NULL; give both");
	failed = first_of(name, &event, &n, &why);
	if (failed)
		return gn_fail(failed, "%s", why.text);
	*code = gn_code_of(name, event->flags);
	gn_event_free(event);
	return *code ? GN_OK : no_memory(name);
}

int gn_code_event(uint32_t code, char *name, size_t size)
{
	char full_name[GN_NAME_MAX];

	if (!name)
		return gn_fail(GN_EINVAL, "name: NULL; give room for GN_NAME_MAX bytes");
	if (!gn_code_name(code, full_name))
		return gn_fail(GN_ENOEVNT, "code %#x: no event has it; gn_event_code() gives codes",
			       (unsigned int)code);
	if (strlen(full_name) >= size)
		return gn_fail(GN_EBUF, "event '%s': %zu bytes are too few; give GN_NAME_MAX",
			       full_name, size);
	strcpy(name, full_name);
	return GN_OK;
}

/* What to look for in a list, and what was found. */
struct wanted {
	const char *name;
	struct gn_event_info *info;
};

/* libpfm4's full names have more behind the name: `icl::INST_RETIRED:ANY_P:e=0:i=0`. */
static int take_description(void *context, const char *name, const char *unit,
			    const char *description)
{
	const struct wanted *wanted = context;
	const size_t length = strlen(name);

	(void)unit;
	if (strncmp(wanted->name, name, length) ||
	    (wanted->name[length] && wanted->name[length] != ':'))
		return 0;
	snprintf(wanted->info->description, sizeof(wanted->info->description), "%s", description);
	return !wanted->name[length];
}

static void describe(const struct gn_event *event, struct gn_event_info *info)
{
	struct wanted wanted = {.name = event->native[0], .info = info};

	info->component = event->component;
	info->natives = event->n;
	info->flags = event->flags;
	snprintf(info->unit, sizeof(info->unit), "%s", event->unit);
	for (int i = 0; i < event->n; i++)
		append(info->definition, sizeof(info->definition), event->native[i]);
	snprintf(info->kind, sizeof(info->kind), "not derived");
	if (!(event->flags & GN_EVENT_PRESET))
		gn_listed_each(&gn_this_machine, (enum gn_component)event->component,
			       take_description, &wanted);
}

int gn_event_describe(const char *name, struct gn_event_info *info)
{
	char base[GN_NAME_MAX], typed[GN_NAME_MAX];
	struct gn_modifiers modifiers;
	struct gn_preset preset;
	struct gn_event *event;
	struct gn_error_text why;
	int failed, n;

	if (!name || !info)
		return gn_fail(GN_EINVAL, "name or info: NULL; give both");
	failed = check_size(info->size, sizeof(*info), "gn_event_info");
	if (failed)
		return failed;
	failed = first_of(name, &event, &n, &why);
	if (failed)
		return gn_fail(failed, "%s", why.text);
	begin(info);
	snprintf(info->name, sizeof(info->name), "%s", name);
	info->code = gn_code_of(name, event->flags);
	describe(event, info);
	if (event->flags & GN_EVENT_PRESET) {
		snprintf(typed, sizeof(typed), "%s", name);
		typed[strcspn(typed, "@")] = '\0';
		if (!gn_modifiers(typed, base, &modifiers, &why) && define(base, &preset, &why) > 0)
			describe_preset(&preset, info);
		info->natives = event->n;
	}
	gn_event_free(event);
	return info->code ? GN_OK : no_memory(name);
}

int gn_presets_load(const char *path)
{
	struct gn_error_text why;
	int failed;

	if (!path)
		return gn_fail(GN_EINVAL, "path: NULL; give a file in PAPI's format");
	failed = gn_user_presets_load(path, &why);
	if (failed)
		return gn_fail(failed, "%s", why.text);
	gn_resolved_forget();
	return GN_OK;
}
