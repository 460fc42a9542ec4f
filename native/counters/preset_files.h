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

void gn_preset_file_free(struct gn_preset_file *file);

/* The number of a standard preset written exactly so; -1 if it is none. */
int gn_preset_number_exactly(const char *name);

#endif
