/* How a statistics file begins. */
#ifndef GNOMON_MIO_HEADER_H
#define GNOMON_MIO_HEADER_H

#include "mio_output.h"

void gn_mio_print_header(struct gn_mio_output *output, const struct gn_mio_variables *variables);

/* As in "Thu Jan  1 00:04:37 1970". */
void gn_mio_print_time(struct gn_mio_output *output);

#endif
