/* Who calls MPI: MT_get_calleraddress() and MT_get_callerinfo(). */
#ifndef GNOMON_MPI_TRACE_CALLERS_H
#define GNOMON_MPI_TRACE_CALLERS_H

#include <stdint.h>

/* Asks MT_trace_event(), and has its call of MPI known meanwhile. */
void gn_trace_ask_event(uint32_t routine, uintptr_t return_address);

#endif
