/*
 * Memory for what is done within the program's calls, also those of a signal's handler: malloc(3)
 * may be what the signal came upon.
 */
#ifndef GNOMON_MIO_HEAP_H
#define GNOMON_MIO_HEAP_H

#include <stddef.h>

/* Zeroed, and aligned for everything; NULL: there is none, and errno is as it was. */
void *gn_mio_heap_take(size_t bytes);

/* What is beyond the bytes before is not zeroed. NULL: there is none, and what was taken stays. */
void *gn_mio_heap_resize(void *taken, size_t bytes);

/* NULL is nothing to give back. */
void gn_mio_heap_give(void *taken);

#endif
