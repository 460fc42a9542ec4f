#include <errno.h>

#include "stack_walk.h"

/* Source: measured, of OpenBLAS's kernels: none keeps more on the stack. */
#define SEARCH_BYTES 4096u
/* Frames looked at while guessing, so that a hostile stack does not take long. */
#define SEARCH_FRAMES_MAX 4096u
/* Functions without rules that call each other. */
#define NESTED_MAX 4u
#define FUNCTION_BYTES_MAX 4096u

/* Is the call before an address one of the function that was being executed? */
static bool calls_function_of(struct gn_walk *walk, uint64_t address, uint64_t pc)
{
	const uint64_t target = gn_space_call_target(walk->space, walk->registers.machine, address);

	return target && pc - target < FUNCTION_BYTES_MAX;
}

/* A frame without rules: an address further up that stands behind a call, and from which the rules
 * lead to the outermost function, is taken for its return address. That one's function may have no
 * rules either, if it is plain that it called this one. */
static bool guess(struct gn_walk *walk, unsigned int nested, uint32_t *looked_at)
{
	const uint64_t sp = walk->registers.value[walk->machine->stack_pointer];
	const uint64_t pc = walk->registers.value[walk->machine->program_counter];
	const uint64_t first = (sp + 7) & ~(uint64_t)7;

	for (uint64_t slot = first; slot - first < SEARCH_BYTES; slot += 8) {
		struct gn_walk attempt;
		enum gn_unwind_end end;
		uint64_t address;

		if (*looked_at > SEARCH_FRAMES_MAX ||
		    gn_memory_read(&walk->memory, slot, &address, 8))
			return false;
		address &= walk->machine->address_mask;
		if (!address ||
		    !gn_space_is_behind_call(walk->space, walk->registers.machine, address))
			continue;
		attempt = *walk;
		attempt.registers.value[walk->machine->stack_pointer] = slot + 8;
		attempt.registers.value[walk->machine->program_counter] = address;
		attempt.flags = GN_UNWIND_RETURN | GN_UNWIND_GUESSED;
		end = gn_walk(&attempt);
		*looked_at += attempt.n - walk->n;
		if (end == GN_UNWIND_COMPLETE ||
		    (end == GN_UNWIND_NO_RULES && attempt.n == walk->n + 1 && nested < NESTED_MAX &&
		     calls_function_of(walk, address, pc) &&
		     guess(&attempt, nested + 1, looked_at))) {
			*walk = attempt;
			return true;
		}
	}
	return false;
}

int gn_unwind_stack(struct gn_unwind_space *space, const struct gn_unwind_registers *registers,
		    const void *stack, uint64_t stack_address, size_t stack_bytes,
		    struct gn_unwind_frame *frames, uint32_t n_max, struct gn_unwind_result *result)
{
	struct gn_walk walk;
	uint32_t looked_at = 0;

	if (!n_max ||
	    (registers->machine != GN_UNWIND_X86_64 && registers->machine != GN_UNWIND_AARCH64) ||
	    stack_address + stack_bytes < stack_address)
		return -EINVAL;
	walk = (struct gn_walk){.space = space,
				.machine = gn_machine(registers->machine),
				.registers = *registers,
				.memory = {stack, stack_address, stack_bytes},
				.frames = frames,
				.n_max = n_max};
	result->end = gn_walk(&walk);
	if (result->end == GN_UNWIND_NO_RULES && guess(&walk, 0, &looked_at))
		result->end = GN_UNWIND_COMPLETE;
	result->n = walk.n;
	result->n_guessed = walk.n_guessed;
	return 0;
}
