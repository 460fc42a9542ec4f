/* Integers of specifications: base 8, 10 or 16 by their prefix, with a unit k, m, g or t. */
#ifndef GNOMON_MIO_NUMBER_H
#define GNOMON_MIO_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* 0; -EINVAL: no integer, -ERANGE: one beyond 64 bits. */
int gn_mio_number(const char *text, size_t length, int64_t *number);

#endif
