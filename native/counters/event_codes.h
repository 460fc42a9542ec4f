/* Numbers for names, the same as long as the process runs. */
#ifndef GNOMON_COUNTERS_EVENT_CODES_H
#define GNOMON_COUNTERS_EVENT_CODES_H

#include "query.h"

/* Gives every event that a query found its code. GN_OK or GN_ENOMEM. */
int gn_codes_of(const struct gn_query *query);

/* The code of a name that was found; flags: enum gn_event_flags. 0 if out of memory. */
uint32_t gn_code_of(const char *name, unsigned int flags);

/* The name of a code: 1, or 0 if none has it. */
int gn_code_name(uint32_t code, char name[GN_NAME_MAX]);

#endif
