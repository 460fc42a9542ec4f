/*
 * The stack that a library was called from, and whether a later call comes from the same one, which
 * is told without unwinding again: two callers with frames of one size differ in the return
 * addresses of theirs alone, so these are compared where they lay.
 */
#ifndef GNOMON_RUNTIME_CALL_STACK_H
#define GNOMON_RUNTIME_CALL_STACK_H

#include <stdint.h>

/* Frames whose return addresses must be the same for a stack to be the same. */
#define GN_STACK_CHECKED 16u
#define GN_STACK_FRAMES_MAX 512u

/* The callers of a call, each with the place on the stack that has its return address. */
struct gn_stack_callers {
	uint32_t n;
	struct {
		uintptr_t slot, address;
	} caller[GN_STACK_CHECKED];
};

/* Whether a call whose frame is where the first one's was has the same callers. */
static inline int gn_stack_has(const struct gn_stack_callers *callers)
{
	for (uint32_t i = 0; i < callers->n; i++)
		if (*(const uintptr_t *)callers->caller[i].slot != callers->caller[i].address)
			return 0;
	return 1;
}

/* Where the memory of a thread's stack is; both 0: not known. */
struct gn_stack_bounds {
	uintptr_t begin, end;
};

/* Of the calling thread. */
struct gn_stack_bounds gn_stack_bounds(void);

/* Return addresses, that of the call first. */
struct gn_stack {
	uint32_t n; /* at least 1 */
	uintptr_t address[GN_STACK_FRAMES_MAX];
};

/*
 * Unwinds the calling thread's stack from the call that returns to `return_address`.
 *
 * frame: an address within the frames of what was called: callers' return addresses lie above it.
 * It has to be the same for each call that gn_stack_has() is asked about.
 */
void gn_stack_unwind(struct gn_stack *stack, struct gn_stack_callers *callers,
		     uintptr_t return_address, uintptr_t frame, struct gn_stack_bounds bounds);

#endif
