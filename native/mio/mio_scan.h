/* Reading a specification character by character. */
#ifndef GNOMON_MIO_SCAN_H
#define GNOMON_MIO_SCAN_H

#include "mio_files.h"

struct gn_mio_scan {
	const char *text;
	size_t offset;
	const struct gn_mio_defaults *defaults;
	struct gn_mio_memory *memory;
	struct gn_mio_error *error;
};

void gn_mio_skip_blanks(struct gn_mio_scan *scan);

/* A module with its options, up to one of `ends` or the end of the text; onto `setting`. */
int gn_mio_scan_module(struct gn_mio_scan *scan, const char *ends,
		       const struct gn_mio_module **module);
int gn_mio_scan_options(struct gn_mio_scan *scan, const char *ends,
			const struct gn_mio_module *module, struct gn_mio_setting *setting);

/* Modules up to a closing bracket or the end, completed by `mio` and `aix`. */
int gn_mio_scan_list(struct gn_mio_scan *scan, struct gn_mio_list *list);

/* The settings of a module by default, which may be changed. NULL: there is no memory. */
struct gn_mio_setting *gn_mio_default_settings(struct gn_mio_scan *scan,
					       const struct gn_mio_module *module);

#endif
