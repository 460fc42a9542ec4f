/* What the variables of the environment say, and files that are opened by it. */
#ifndef GNOMON_MIO_SETTINGS_H
#define GNOMON_MIO_SETTINGS_H

#include "mio_files.h"
#include "mio_output.h"
#include "mio_stack.h"

struct gn_mio_settings {
	struct gn_mio_variables variables;
	unsigned int debug;
	struct gn_mio_registry registry;
	struct gn_mio_defaults defaults;	/* MIO_DEFAULTS */
	struct gn_mio_defaults module_defaults; /* without them */
	struct gn_mio_files files;		/* MIO_FILES */
	struct gn_mio_files module_files;	/* likewise without MIO_DEFAULTS */
};

/*
 * Read once, when they are asked for first. What makes no sense is told on stderr, and is as if it
 * were not set.
 */
const struct gn_mio_settings *gn_mio_settings(void);

/* A file that is to be opened. */
struct gn_mio_request {
	struct gn_mio_open file;
	const char *modules; /* for a file that MIO_FILES has nothing for; NULL: none */
	int skips_files, skips_defaults;
	int is_plain; /* without modules that do something */
};

/* As gn_mio_stack_open(); also -EINVAL, after a line on stderr: `modules` makes no sense. */
int gn_mio_request_open(struct gn_mio_stack **stack, const struct gn_mio_request *request);

#endif
