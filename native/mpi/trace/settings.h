/* The seed's variables (section 4.3), and those of Gnomon beside them. */
#ifndef GNOMON_MPI_TRACE_SETTINGS_H
#define GNOMON_MPI_TRACE_SETTINGS_H

#include <stddef.h>

#define GN_TRACE_TOPOLOGY_VARIABLE "GNOMON_MPI_TOPOLOGY"

int gn_trace_wants_send_pattern(void);

/* Of TRACEBACK_LEVEL: 0 is the place of the call itself. */
int gn_trace_traceback_level(void);

/* Of a file in TRACE_DIR, or where the program is. 0, or -ENAMETOOLONG. */
int gn_trace_path(const char *name, char *path, size_t size);

/* Names what was asked for and is not there yet; once, by rank 0. */
void gn_trace_warn_of_settings(void);

/* One line on stderr: "gnomon: libmpitrace: ..." */
__attribute__((format(printf, 1, 2))) void gn_trace_say(const char *format, ...);

#endif
