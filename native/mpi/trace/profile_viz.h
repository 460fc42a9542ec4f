/* mpi_profile_RANK.viz (section 4.4.2): the sites of calls, as sections of a program. */
#ifndef GNOMON_MPI_TRACE_PROFILE_VIZ_H
#define GNOMON_MPI_TRACE_PROFILE_VIZ_H

#include <stdint.h>

/* Names of lines come when it is read: it has their addresses, by which debug information has
 * them. */
void gn_trace_write_viz(int32_t rank);

#endif
