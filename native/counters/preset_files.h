/* Files of users' presets. */
#ifndef GNOMON_COUNTERS_PRESET_FILES_H
#define GNOMON_COUNTERS_PRESET_FILES_H

#include "presets.h"

/* Memory that lives as long as its file. */
struct gn_kept {
	struct gn_kept *next;
	uint64_t aligned[];
};

struct gn_preset_file {
	struct gn_preset_file *next;
	struct gn_kept *kept;
	const char *path;
	int n;
	int room;
	struct gn_preset *preset;
};

/*
 * Reads a file in PAPI's format of user-defined events.
 * GN_OK, or GN_EINVAL with file, line and problem, or GN_ENOMEM; then *file is NULL.
 */
int gn_preset_file_read(const char *path, struct gn_preset_file **file, struct gn_error_text *why);

/* A file without presets yet; NULL: out of memory. */
struct gn_preset_file *gn_preset_file_new(const char *path);
void gn_preset_file_free(struct gn_preset_file *file);

/* Memory that lives as long as the file's presets; NULL: out of memory. */
void *gn_preset_keep(struct gn_preset_file *file, size_t size);

/* Adds a preset, whose texts live as long as the file. 0 or -ENOMEM. */
int gn_preset_file_append(struct gn_preset_file *file, const struct gn_preset *preset);

/* The same with copies of all that the preset points to. */
int gn_preset_file_copy(struct gn_preset_file *file, const struct gn_preset *preset);

/*
 * Makes files known in place of all others, those of GNOMON_PRESETS included, and keeps them. The
 * first of the list is asked first. No event of the former files may be in use.
 */
void gn_user_presets_replace(struct gn_preset_file *files);

/* The number of a standard preset written exactly so; -1 if it is none. */
int gn_preset_number_exactly(const char *name);

#endif
