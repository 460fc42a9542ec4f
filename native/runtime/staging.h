/*
 * The staging folder: where `gnomon run` finds what its program leaves, one set of files for each
 * process. The program's own output is as it is without, and a folder that cannot be written is no
 * fault of the program: callers go on.
 */
#ifndef GNOMON_RUNTIME_STAGING_H
#define GNOMON_RUNTIME_STAGING_H

#include <stddef.h>
#include <stdint.h>

/* The variable that names it; an absolute path. */
#define GN_STAGING_VARIABLE "GNOMON_RUN_DIR"

/* The capabilities that are switched off in a run, separated by commas. */
#define GN_STAGING_WITHOUT "GNOMON_WITHOUT"

/*
 * The folder of a capability, by whose name `gnomon run` knows it. NULL: there is none, or the
 * capability is switched off, or this is a set-user-ID program, which writes nothing that its user
 * names.
 */
const char *gn_staging_folder(const char *capability);

/*
 * What a file's name is made of: HOST.PID.NANOSECONDS.ENDING. The moment tells programs apart that
 * run one after the other in a process.
 */
struct gn_staging_origin {
	const char *capability;
	const char *host;
	uint32_t pid;
	uint64_t realtime_ns;
};

/* This process, now. `host` has GN_HOST_NAME_SIZE bytes (host_name.h), is filled, and has to last
 * as long as the origin. */
struct gn_staging_origin gn_staging_here(const char *capability, char *host);

/* 0; -ENOENT: there is no folder for it; -ENAMETOOLONG. */
int gn_staging_path(const struct gn_staging_origin *origin, const char *ending, char *path,
		    size_t size);

/* The following return 0 or a negative errno. */

/* A link to a file elsewhere. */
int gn_staging_link(const struct gn_staging_origin *origin, const char *ending, const char *target);

/* A file with these bytes, there as a whole or not at all. */
int gn_staging_write(const struct gn_staging_origin *origin, const char *ending, const void *bytes,
		     size_t size);

/* A line at a file's end; `head` comes first in a new file. */
int gn_staging_append(const struct gn_staging_origin *origin, const char *ending, const char *head,
		      const char *line);

#endif
