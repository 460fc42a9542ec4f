/* Call stacks of places, as frames which the threads of a process share. */
#ifndef GNOMON_STACKS_H
#define GNOMON_STACKS_H

#include "places.h"

/* The stack of the caller, as records of frames; the innermost one's number. `place` has room for
 * what is `checked` of GN_FRAMES_CHECKED callers. */
uint32_t gn_stack_record(struct gn_site_thread *thread, struct gn_call_place *place,
			 struct gn_checked_frame *checked);

/* In a child of a fork: nothing of it is in its own file. */
void gn_stacks_forget(void);

#endif
