/*
 * Specifications: which modules a file gets, by its name (MIO_FILES), and what modules do where
 * nothing else is said (MIO_DEFAULTS).
 *
 *	names [ module/option/option=value | module ] names [ ... ]
 *	module/option=value , module/option
 *
 * What is read from a text lives in memory of its own, which ends with gn_mio_files_free() and
 * gn_mio_list_free().
 */
#ifndef GNOMON_MIO_FILES_H
#define GNOMON_MIO_FILES_H

#include <stdint.h>

#include "mio_error.h"
#include "mio_memory.h"
#include "mio_module.h"
#include "mio_registry.h"

/* Bytes of a specification, its rules, layers of a file. */
#define GN_MIO_TEXT_MAX 65536u
#define GN_MIO_RULES_MAX 1024u
#define GN_MIO_LAYERS_MAX 64u

/* A module with its settings, as its options leave them. */
struct gn_mio_invocation {
	const struct gn_mio_module *module;
	struct gn_mio_setting *setting; /* of module->n_settings */
};

/* The layers of a file, from the program's to the system's: `mio` first, `aix` last. */
struct gn_mio_list {
	uint32_t n;
	struct gn_mio_invocation layer[GN_MIO_LAYERS_MAX];
	struct gn_mio_memory memory; /* of a list that is alone */
};

/* The settings of each module where a specification has no option. */
struct gn_mio_defaults {
	const struct gn_mio_registry *registry;
	struct gn_mio_setting *setting[GN_MIO_MODULES_MAX]; /* in the order of the registry */
	struct gn_mio_memory memory;
};

struct gn_mio_rule {
	uint32_t n_templates;
	const char **name_template;
	const char *text; /* of the list, as it is written */
	const struct gn_mio_list *list;
};

struct gn_mio_files {
	uint32_t n;
	struct gn_mio_rule *rule;
	struct gn_mio_list plain; /* of a file that no rule is for */
	struct gn_mio_memory memory;
};

/* NULL: MIO_DEFAULTS is not set. 0, -EINVAL with `error`, or -ENOMEM; all must be freed. */
int gn_mio_defaults_read(struct gn_mio_defaults *defaults, const struct gn_mio_registry *registry,
			 const char *text, struct gn_mio_error *error);
void gn_mio_defaults_free(struct gn_mio_defaults *defaults);

/* Likewise of MIO_FILES. */
int gn_mio_files_read(struct gn_mio_files *files, const struct gn_mio_defaults *defaults,
		      const char *text, struct gn_mio_error *error);
void gn_mio_files_free(struct gn_mio_files *files);

/* Likewise of modules alone, with or without brackets; NULL: `mio` and `aix`. */
int gn_mio_list_read(struct gn_mio_list *list, const struct gn_mio_defaults *defaults,
		     const char *text, struct gn_mio_error *error);
void gn_mio_list_free(struct gn_mio_list *list);

/*
 * The first rule for the path, and which of its templates; NULL: there is none. Compared is the
 * path as it is written, and with templates that begin with a slash also where the kernel has it.
 */
const struct gn_mio_rule *gn_mio_files_match(const struct gn_mio_files *files, const char *path,
					     const char **name_template);

#endif
