/* Waiting for other ranks. */
#ifndef GNOMON_RUNTIME_BACKOFF_H
#define GNOMON_RUNTIME_BACKOFF_H

#include <stdint.h>

int64_t gn_monotonic_ns(void);

/* Waits a little, the longer the longer it has been waited. */
void gn_backoff(int64_t since_ns);

#endif
