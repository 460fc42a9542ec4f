/* How well the kernel knows user and system time. */
#ifndef GNOMON_CORE_CPU_TIME_H
#define GNOMON_CORE_CPU_TIME_H

/*
 * Of less CPU time than this they are not known: the kernel tells the two apart at its ticks, of 1
 * to 10 ms.
 */
#define GN_LEAST_CPU_NS 10000000

#endif
