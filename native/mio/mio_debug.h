/* MIO_DEBUG: what is told of the use of MIO itself. */
#ifndef GNOMON_MIO_DEBUG_H
#define GNOMON_MIO_DEBUG_H

#include "mio_error.h"
#include "mio_stack.h"

enum gn_mio_debug {
	GN_MIO_DEBUG_ENV = 1,	    /* which template of MIO_FILES a file is matched by */
	GN_MIO_DEBUG_OPEN = 2,	    /* files that are opened */
	GN_MIO_DEBUG_MODULES = 4,   /* the modules that they get */
	GN_MIO_DEBUG_TIMESTAMP = 8, /* the time before each entry of a statistics file */
	GN_MIO_DEBUG_DEF = 16,	    /* options and defaults of each module */
	GN_MIO_DEBUG_ALL = 31,
};

/* Keywords in any case, between commas, colons or blanks. 0 or -EINVAL. */
int gn_mio_debug_read(const char *text, unsigned int *debug, struct gn_mio_error *error);

/* "mio | trace | aix", with options that differ from the module's own. */
void gn_mio_print_list(struct gn_mio_output *output, const struct gn_mio_list *list);

/* The definition table of a module. */
void gn_mio_print_module(struct gn_mio_output *output, const struct gn_mio_module *module);

#endif
