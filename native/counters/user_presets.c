/*
 * Users' own presets: the files of GNOMON_PRESETS, and those that a program loads. They come before
 * the library's own; what was loaded last comes first, then the variable's files in their order.
 * Files that were read stay in memory: events in use point into them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"
#include "preset_files.h"

#define VARIABLE "GNOMON_PRESETS"

static struct gn_preset_file *loaded;
static struct gn_preset_file *of_variable;
static int is_variable_read;
static int variable_error;
static struct gn_error_text variable_message;

/* A preset that would hide an event: nobody could tell which of them was counted. */
static int refuse_taken(const struct gn_preset_file *file, struct gn_error_text *why)
{
	static const char *const components[] = {"cpu", "kernel", "tsc"};

	for (int i = 0; i < file->n; i++) {
		const struct gn_preset *preset = &file->preset[i];
		struct gn_error_text said;
		struct gn_event *events[2];
		struct gn_query query = {.places = &gn_this_machine,
					 .name = preset->name,
					 .out = events,
					 .max = 2,
					 .why = &said};
		const char *component = NULL;

		if (!gn_modifiers(preset->name, query.base, &query.modifiers, &said) &&
		    !gn_native_resolve(&query) && query.n)
			component = components[events[0]->component];
		gn_query_drop(&query);
		if (component)
			return gn_error_set(
				why, GN_EINVAL,
				"%s:%d: preset %s: component %s has an event of that name; "
				"give the preset a name of its own",
				file->path, preset->line, preset->name, component);
	}
	return GN_OK;
}

static int read_checked(const char *path, struct gn_preset_file **file, struct gn_error_text *why)
{
	int failed = gn_preset_file_read(path, file, why);

	if (!failed) {
		failed = refuse_taken(*file, why);
		if (failed)
			gn_preset_file_free(*file);
	}
	return failed;
}

static void drop(struct gn_preset_file **list)
{
	while (*list) {
		struct gn_preset_file *next = (*list)->next;

		gn_preset_file_free(*list);
		*list = next;
	}
}

static int read_variable(struct gn_error_text *why)
{
	const char *value = getenv(VARIABLE);
	char *copy = value && *value ? strdup(value) : NULL, *rest = copy, *path;
	struct gn_preset_file **last = &of_variable;
	int failed = GN_OK;

	if (value && *value && !copy)
		return gn_error_set(why, GN_ENOMEM, VARIABLE ": out of memory; free some memory");
	while (!failed && (path = strsep(&rest, ":"))) {
		if (!*path)
			continue;
		failed = read_checked(path, last, why);
		if (!failed)
			last = &(*last)->next;
		else
			*last = NULL;
	}
	free(copy);
	if (failed)
		drop(&of_variable);
	return failed;
}

int gn_user_presets_ready(struct gn_error_text *why)
{
	int failed;

	gn_lock(GN_LOCK_PRESETS);
	if (!is_variable_read) {
		variable_error = read_variable(&variable_message);
		is_variable_read = 1;
	}
	failed = variable_error;
	if (failed)
		*why = variable_message;
	gn_unlock(GN_LOCK_PRESETS);
	return failed;
}

void gn_user_presets_replace(struct gn_preset_file *files)
{
	gn_lock(GN_LOCK_PRESETS);
	drop(&loaded);
	drop(&of_variable);
	of_variable = files;
	is_variable_read = 1;
	variable_error = GN_OK;
	gn_unlock(GN_LOCK_PRESETS);
}

int gn_user_presets_load(const char *path, struct gn_error_text *why)
{
	struct gn_preset_file *file;
	const int failed = read_checked(path, &file, why);

	if (failed)
		return failed;
	gn_lock(GN_LOCK_PRESETS);
	file->next = loaded;
	loaded = file;
	gn_unlock(GN_LOCK_PRESETS);
	return GN_OK;
}

/* Whether a preset holds for a core, NULL for any. */
static int holds(const struct gn_preset *preset, const struct gn_core *core)
{
	if (!core)
		return 1;
	for (int i = 0; i < preset->n_pmus; i++)
		for (int j = 0; j < core->n_models; j++)
			if (!strcmp(preset->pmus[i], core->model[j]))
				return 1;
	return !preset->n_pmus;
}

static int find_in(const struct gn_preset_file *file, const char *name, const struct gn_core *core,
		   struct gn_preset *preset)
{
	for (; file; file = file->next) {
		for (int i = 0; i < file->n; i++) {
			if (strcmp(file->preset[i].name, name) || !holds(&file->preset[i], core))
				continue;
			*preset = file->preset[i];
			return 1;
		}
	}
	return 0;
}

int gn_user_preset_find(const char *name, const struct gn_core *core, struct gn_preset *preset)
{
	int is_found;

	gn_lock(GN_LOCK_PRESETS);
	is_found = find_in(loaded, name, core, preset) || find_in(of_variable, name, core, preset);
	gn_unlock(GN_LOCK_PRESETS);
	return is_found;
}

int gn_user_preset_named(const char *name, struct gn_preset *preset)
{
	int is_found;

	gn_lock(GN_LOCK_PRESETS);
	is_found = find_in(loaded, name, NULL, preset) || find_in(of_variable, name, NULL, preset);
	gn_unlock(GN_LOCK_PRESETS);
	return is_found;
}

/* The preset with the number of those in a list; *number becomes less by those in it. */
static int nth_of(const struct gn_preset_file *file, int *number, struct gn_preset *preset)
{
	for (; file; file = file->next) {
		if (*number < file->n) {
			*preset = file->preset[*number];
			return 1;
		}
		*number -= file->n;
	}
	return 0;
}

int gn_user_preset_at(int number, struct gn_preset *preset)
{
	int is_found;

	gn_lock(GN_LOCK_PRESETS);
	is_found = nth_of(loaded, &number, preset) || nth_of(of_variable, &number, preset);
	gn_unlock(GN_LOCK_PRESETS);
	return is_found;
}

int gn_user_preset_count(void)
{
	struct gn_preset preset;
	int n = 0;

	while (gn_user_preset_at(n, &preset))
		n++;
	return n;
}
