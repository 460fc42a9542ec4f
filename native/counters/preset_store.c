/* The presets of a file in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preset_files.h"

void *gn_preset_keep(struct gn_preset_file *file, size_t size)
{
	struct gn_kept *kept = calloc(1, sizeof(*kept) + size);

	if (!kept)
		return NULL;
	kept->next = file->kept;
	file->kept = kept;
	return kept + 1;
}

void gn_preset_file_free(struct gn_preset_file *file)
{
	while (file->kept) {
		struct gn_kept *next = file->kept->next;

		free(file->kept);
		file->kept = next;
	}
	free(file->preset);
	free(file);
}

static void *keep_copy(struct gn_preset_file *file, const void *what, size_t size)
{
	void *copy = gn_preset_keep(file, size ? size : 1);

	return copy ? memcpy(copy, what, size) : NULL;
}

static const char *keep_text(struct gn_preset_file *file, const char *text)
{
	return keep_copy(file, text, strlen(text) + 1);
}

struct gn_preset_file *gn_preset_file_new(const char *path)
{
	struct gn_preset_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->path = keep_text(file, path);
	if (file->path)
		return file;
	gn_preset_file_free(file);
	return NULL;
}

int gn_preset_file_append(struct gn_preset_file *file, const struct gn_preset *preset)
{
	if (file->n == file->room) {
		const int room = file->room ? 2 * file->room : 16;
		struct gn_preset *grown = realloc(file->preset, (size_t)room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		file->preset = grown;
		file->room = room;
	}
	file->preset[file->n++] = *preset;
	return 0;
}

/* Names that stand one after the other. */
static size_t size_of_names(const char *names, int n)
{
	const char *end = names;

	while (n--)
		end += strlen(end) + 1;
	return (size_t)(end - names);
}

static const char *const *keep_pmus(struct gn_preset_file *file, const struct gn_preset *preset)
{
	const char **pmus = gn_preset_keep(file, (size_t)(preset->n_pmus + 1) * sizeof(*pmus));

	for (int i = 0; pmus && i < preset->n_pmus; i++) {
		pmus[i] = keep_text(file, preset->pmus[i]);
		if (!pmus[i])
			return NULL;
	}
	return pmus;
}

int gn_preset_file_copy(struct gn_preset_file *file, const struct gn_preset *preset)
{
	struct gn_preset copy = *preset;

	copy.name = keep_text(file, preset->name);
	copy.description = keep_text(file, preset->description);
	copy.unit = keep_text(file, preset->unit);
	copy.formula = keep_text(file, preset->formula);
	copy.reason = keep_text(file, preset->reason);
	copy.differs = keep_text(file, preset->differs);
	copy.source = keep_text(file, preset->source);
	copy.pmus = keep_pmus(file, preset);
	copy.events = keep_copy(file, preset->events, size_of_names(preset->events, preset->n));
	copy.program.op = keep_copy(file, preset->program.op,
				    (size_t)preset->program.n * sizeof(*preset->program.op));
	if (!copy.name || !copy.description || !copy.unit || !copy.formula || !copy.reason ||
	    !copy.differs || !copy.source || !copy.pmus || !copy.events || !copy.program.op)
		return -ENOMEM;
	return gn_preset_file_append(file, &copy);
}
