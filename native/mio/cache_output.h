/* Where statistics of `pf` and `wb` go: whoever has the stack of layers gives this function. */
#ifndef GNOMON_MIO_CACHE_OUTPUT_H
#define GNOMON_MIO_CACHE_OUTPUT_H

#include "mio_module.h"

/* Writes a text to the destination that `stats=` names: `mioout`, or a file. */
void gn_mio_cache_write(struct gn_mio_output *output, const char *destination, const char *text);

#endif
