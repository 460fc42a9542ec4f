/*
 * Memory for what a function works with, in the place of large arrays on the stack: measured calls
 * may come from a signal's handler, whose stack has 8 KB in many programs.
 */
#ifndef GNOMON_CORE_SCRATCH_MEMORY_H
#define GNOMON_CORE_SCRATCH_MEMORY_H

#define GN_SCRATCH_BYTES 16384u

/* That many bytes of any content; NULL: there is no memory. By any thread, and any handler. */
void *gn_scratch_take(void);

void gn_scratch_give(void *scratch);

#endif
