/* The text of a report, before it is written. */
#ifndef GNOMON_MIO_TEXT_H
#define GNOMON_MIO_TEXT_H

#include <stddef.h>

#include "mio_module.h"

struct gn_mio_output {
	struct gn_mio_sink *sink; /* where it goes; of mio_output.c */
	size_t used, size;
	char *text;
};

#endif
