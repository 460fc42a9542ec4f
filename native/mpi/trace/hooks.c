#include "hooks.h"

#include <gnomon/mpt.h>

/* A program need not define them. */
#pragma weak MT_trace_event
#pragma weak MT_output_trace
#pragma weak MT_output_text

struct gn_trace_hooks gn_trace_hooks;

void gn_trace_hooks_begin(void)
{
	gn_trace_hooks.event = MT_trace_event;
	gn_trace_hooks.output_trace = MT_output_trace;
	gn_trace_hooks.output_text = MT_output_text;
}
