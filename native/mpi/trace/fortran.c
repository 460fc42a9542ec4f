/*
 * The same for Fortran: mt.F90 has interfaces for what is no plain call. Compilers differ in what
 * they append to a name; there is one for each.
 */
#define MPT_NO_HOOKS
#include <gnomon/mpt.h>

#define ALIASES(name, type, arguments)                                                             \
	MT_API type name arguments __attribute__((alias(#name "_")));                              \
	MT_API type name##__ arguments __attribute__((alias(#name "_")));                          \
	MT_API type name##_ arguments

ALIASES(mt_trace_start, void, (void));
ALIASES(mt_trace_stop, void, (void));
MT_API void trace_start_(void);
MT_API void trace_stop_(void);
MT_API void trace_start__(void) __attribute__((alias("trace_start_")));
MT_API void trace_stop__(void) __attribute__((alias("trace_stop_")));

void mt_trace_start_(void)
{
	MT_trace_start();
}

void mt_trace_stop_(void)
{
	MT_trace_stop();
}

void trace_start_(void)
{
	MT_trace_start();
}

void trace_stop_(void)
{
	MT_trace_stop();
}
