/* Frame after frame, as far as rules and frame pointers lead. */
#ifndef GN_STACK_WALK_H
#define GN_STACK_WALK_H

#include "code_space.h"
#include "stack_memory.h"

struct gn_walk {
	struct gn_unwind_space *space;
	const struct gn_machine *machine;
	struct gn_unwind_registers registers;
	struct gn_stack_memory memory;
	struct gn_unwind_frame *frames;
	uint32_t n;
	uint32_t n_max;
	uint32_t n_guessed;
	/* Of the next frame. */
	uint32_t flags;
	/* The memory is a second copy, or beyond the first, of a stack that may have changed since.
	 */
	bool is_second_copy;
};

enum gn_unwind_end gn_walk(struct gn_walk *walk);

#endif
