/*
 * `wb`, write-behind: small writes one after the other are put together, and go below as one.
 *
 * Whoever asks about the file, moves its end, syncs or reads what is held has it written first. A
 * process that is killed loses what is held: at most `size` bytes of each file.
 */
#ifndef GNOMON_MIO_WB_H
#define GNOMON_MIO_WB_H

#include "mio_module.h"

extern const struct gn_mio_module gn_mio_wb;

#endif
