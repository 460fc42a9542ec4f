/*
 * Where the debug information of a module is, if not in it: files by build id, then by
 * .gnu_debuglink; and the file that dwz put what several such files share into.
 */
#pragma once

#include "elf_file.h"

/* Files that the answer depends on, those that were looked for and are missing too: who keeps the
 * answer looks whether they are as they were. */
struct gn_inputs {
	struct gn_vector paths; /* char *, of the arena */
};

/* Opens it; false if there is none. `folders` are separated by ':' as in PATH. */
bool gn_debug_file_open(struct gn_elf *debug, struct gn_elf *module, const char *path,
			const char *folders, struct gn_inputs *inputs);

/* Opens the file that .gnu_debugaltlink of a file at a path names. */
bool gn_debug_alternate_open(struct gn_elf *alternate, struct gn_elf *file, const char *path,
			     const char *folders, struct gn_inputs *inputs);

/* The path that was opened last: the last of the inputs. */
const char *gn_inputs_last(const struct gn_inputs *inputs);
