/* Why the kernel refused an event; message.h has what event sets call. */
#ifndef GNOMON_COUNTERS_REFUSAL_H
#define GNOMON_COUNTERS_REFUSAL_H

#include "message.h"

/* gn_refusal() of a machine whose /proc and /sys lie under `root`. */
int gn_refusal_at(const char *root, int error, unsigned int flags, struct gn_message *why);

#endif
