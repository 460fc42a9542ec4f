/* Templates of file names: `*`, `?` and a `**` at the end. */
#ifndef GNOMON_MIO_TEMPLATE_H
#define GNOMON_MIO_TEMPLATE_H

#include <stdbool.h>

/* One without a slash is compared with the leaf name of the path alone. */
bool gn_mio_template_matches(const char *name_template, const char *path);

#endif
