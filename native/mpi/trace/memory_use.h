/* What /proc/self says of this process's memory: proc(5). */
#ifndef GNOMON_MPI_TRACE_MEMORY_USE_H
#define GNOMON_MPI_TRACE_MEMORY_USE_H

/* Bytes of data, heap and private memory (VmData); NaN: not known. */
double gn_trace_heap_bytes(void);

#endif
