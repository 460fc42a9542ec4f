/*
 * Where statistics and diagnostic messages go: MIO_STATS, or a file that an option `stats` names.
 * A file is made when something is written to it for the first time, begins with a header that
 * tells of the process, and grows by whole reports: it is readable whenever the process ends.
 */
#ifndef GNOMON_MIO_OUTPUT_H
#define GNOMON_MIO_OUTPUT_H

#include "mio_module.h"

/* The name of a file that stands for MIO_STATS, and the file's own where that is not set. */
#define GN_MIO_STATS_NAME "mioout"

/* The variables as they were when the process began with MIO; NULL: not set. */
struct gn_mio_variables {
	const char *stats, *debug, *files, *defaults, *include_path;
};

/* Before the first output; the texts stay. */
void gn_mio_output_configure(const struct gn_mio_variables *variables, unsigned int debug);

/*
 * A report to a file by name: "stderr", "stdout", "+file", which is appended to, or a file that is
 * overwritten; NULL: MIO_STATS. NULL where there is no memory, which gn_mio_print() and
 * gn_mio_output_end() bear.
 */
struct gn_mio_output *gn_mio_output_begin(const char *name);

/* Writes it in one piece, if it has something in it. */
void gn_mio_output_end(struct gn_mio_output *output);

/*
 * Before a fork: the file is made if it was not yet, lest parent and child overwrite each other's
 * reports. NULL: MIO_STATS, if that is set.
 */
void gn_mio_output_create(const char *name);

/* In a child that was forked: what it tells is appended. */
void gn_mio_output_forked(void);

#endif
