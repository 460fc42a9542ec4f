#include <errno.h>

#include "stack_walk.h"

/* Of a frame from its stack pointer on, and from a register that points to its other end. */
#define SEARCH_BYTES 4096u
#define SEARCH_NEAR_BYTES 256u
#define PAGE_BYTES 4096u
/* Up to where a register is taken for the end of a frame. */
#define FRAME_BYTES_MAX ((uint64_t)1 << 20)
/* Frames looked at while guessing, so that a hostile stack does not take long. */
#define SEARCH_FRAMES_MAX 1024u
/* Functions without rules that call each other. */
#define NESTED_MAX 4u
#define FUNCTION_BYTES_MAX 4096u

/* Is the call before an address one of the function that was being executed? */
static bool calls_function_of(struct gn_walk *walk, uint64_t address, uint64_t pc)
{
	const uint64_t target = gn_space_call_target(walk->space, walk->registers.machine, address);

	return target && pc - target < FUNCTION_BYTES_MAX;
}

struct guess {
	struct gn_walk *walk;
	unsigned int nested;
	uint32_t *looked_at;
	/* Only calls of this very function count. */
	bool is_strict;
};

/* What an address on the stack is: not the caller's, as far as can be told; the caller's; or one of
 * which it cannot be told, behind which no other may be looked for. */
enum candidate { NO_CALLER, CALLER, PERHAPS };

static bool guess(struct gn_walk *walk, unsigned int nested, uint32_t *looked_at);

/* A library without rules, as musl is, has callers in itself that nobody can tell from what earlier
 * calls left: to go on behind them would leave some out. */
static bool is_of_the_same_kind(const struct gn_walk *walk, const struct gn_walk *attempt,
				enum gn_unwind_end end)
{
	const struct gn_unwind_frame *frame = &walk->frames[walk->n - 1];

	return end == GN_UNWIND_NO_RULES && attempt->n == walk->n + 1 &&
	       frame[1].file == frame[0].file;
}

/* An address that stands behind a call, and from which the rules lead to the outermost function, is
 * taken for the frame's return address. The caller may have no rules either, if it is plain that
 * it called this function. */
static enum candidate try_caller(const struct guess *guessed, uint64_t address, uint64_t sp)
{
	struct gn_walk *walk = guessed->walk;
	const uint64_t pc = walk->registers.value[walk->machine->program_counter];
	struct gn_walk attempt;
	enum gn_unwind_end end;
	bool is_caller;

	if (!address || !gn_space_is_behind_call(walk->space, walk->registers.machine, address) ||
	    gn_space_is_function(walk->space, address))
		return NO_CALLER;
	is_caller = calls_function_of(walk, address, pc);
	if (guessed->is_strict && !is_caller)
		return NO_CALLER;
	attempt = *walk;
	attempt.registers.value[walk->machine->stack_pointer] = sp;
	attempt.registers.value[walk->machine->program_counter] = address;
	attempt.flags = GN_UNWIND_RETURN | GN_UNWIND_GUESSED;
	end = gn_walk(&attempt);
	*guessed->looked_at += attempt.n - walk->n;
	if (end == GN_UNWIND_COMPLETE ||
	    (end == GN_UNWIND_NO_RULES && attempt.n == walk->n + 1 &&
	     guessed->nested < NESTED_MAX && is_caller &&
	     guess(&attempt, guessed->nested + 1, guessed->looked_at))) {
		*walk = attempt;
		return CALLER;
	}
	return is_of_the_same_kind(walk, &attempt, end) ? PERHAPS : NO_CALLER;
}

/* Pointers to functions lie on stacks, too; before some of those stands a call that never returns:
 * they are no callers. */
static bool search(const struct guess *guessed, uint64_t first, uint64_t bytes)
{
	struct gn_walk *walk = guessed->walk;

	first = (first + 7) & ~(uint64_t)7;
	for (uint64_t slot = first; slot - first < bytes; slot += 8) {
		enum candidate candidate;
		uint64_t address;

		if (*guessed->looked_at > SEARCH_FRAMES_MAX ||
		    gn_memory_read(&walk->memory, slot, &address, 8))
			return false;
		candidate = try_caller(guessed, address & walk->machine->address_mask, slot + 8);
		if (candidate == CALLER)
			return true;
		if (candidate == PERHAPS && !guessed->is_strict) {
			*guessed->looked_at = SEARCH_FRAMES_MAX + 1;
			return false;
		}
	}
	return false;
}

/* On aarch64 a function that calls no other one leaves its return address in x30. */
static bool is_in_link_register(const struct guess *guessed)
{
	const struct gn_walk *walk = guessed->walk;
	const struct gn_unwind_registers *registers = &walk->registers;

	return registers->machine == GN_UNWIND_AARCH64 && !(walk->flags & GN_UNWIND_RETURN) &&
	       try_caller(guessed, registers->value[30] & walk->machine->address_mask,
			  registers->value[walk->machine->stack_pointer]) == CALLER;
}

/* A frame that is aligned to a page, as that of OpenBLAS's kernels, has its end in a register. */
static bool search_by_registers(const struct guess *guessed)
{
	const struct gn_walk *walk = guessed->walk;
	const uint64_t sp = walk->registers.value[walk->machine->stack_pointer];

	for (unsigned int i = walk->machine->first_kept; i <= walk->machine->last_kept; i++) {
		const uint64_t end = walk->registers.value[i];

		if (i != walk->machine->stack_pointer && end > sp &&
		    end - walk->memory.address < FRAME_BYTES_MAX &&
		    search(guessed, end, SEARCH_NEAR_BYTES))
			return true;
	}
	return false;
}

/* Finds the caller of a frame without rules: what earlier calls left on the stack looks like one,
 * too, so the surest come first. */
static bool guess(struct gn_walk *walk, unsigned int nested, uint32_t *looked_at)
{
	const struct guess strict = {walk, nested, looked_at, true};
	const struct guess any = {walk, nested, looked_at, false};
	const uint64_t sp = walk->registers.value[walk->machine->stack_pointer];

	if (is_in_link_register(&any) || search(&strict, sp, SEARCH_BYTES) ||
	    search_by_registers(&strict))
		return true;
	/* Up to the end of an aligned frame lies a buffer, whoever wrote there last. */
	if (sp % PAGE_BYTES == 0 && search_by_registers(&any))
		return true;
	return search(&any, sp, SEARCH_BYTES) || search_by_registers(&any);
}

static enum gn_unwind_end walk_whole(struct gn_walk *walk)
{
	const enum gn_unwind_end end = gn_walk(walk);
	uint32_t looked_at = 0;

	return end == GN_UNWIND_NO_RULES && guess(walk, 0, &looked_at) ? GN_UNWIND_COMPLETE : end;
}

/* Whether what lies beyond the copy may be read from the thread: it seems to be where it was. */
static bool may_look_beyond(const struct gn_walk *start, struct gn_live_stack *live)
{
	live->pid = start->space->pid;
	live->is_doubtful = !gn_memory_is_current(&start->memory, live->pid);
	return (!live->is_doubtful || start->registers.is_fresh) &&
	       gn_thread_is_alive(live->pid, start->registers.thread);
}

/* Frames larger than the copy: numerical libraries keep their buffers on the stack. Frames from
 * beyond it are marked as guessed, and are none unless they lead to the outermost function. */
static enum gn_unwind_end walk_beyond(const struct gn_walk *start, struct gn_live_stack *live,
				      struct gn_walk *walk)
{
	enum gn_unwind_end end;

	*walk = *start;
	walk->memory.live = live;
	end = walk_whole(walk);
	if (end == GN_UNWIND_COMPLETE)
		return end;
	/* The frames of before have been overwritten. */
	*walk = *start;
	return walk_whole(walk);
}

int gn_unwind_stack(struct gn_unwind_space *space, const struct gn_unwind_registers *registers,
		    const void *stack, uint64_t stack_address, size_t stack_bytes,
		    struct gn_unwind_frame *frames, uint32_t n_max, struct gn_unwind_result *result)
{
	struct gn_live_stack live;
	struct gn_walk start, walk;

	if (!n_max ||
	    (registers->machine != GN_UNWIND_X86_64 && registers->machine != GN_UNWIND_AARCH64) ||
	    stack_address + stack_bytes < stack_address)
		return -EINVAL;
	start = (struct gn_walk){.space = space,
				 .machine = gn_machine(registers->machine),
				 .registers = *registers,
				 .memory = {stack, stack_address, stack_bytes, NULL},
				 .frames = frames,
				 .n_max = n_max};
	walk = start;
	result->end = walk_whole(&walk);
	result->is_beyond = result->end == GN_UNWIND_STACK_CUT;
	live.n_reads = 0;
	live.size = 0;
	if ((result->end == GN_UNWIND_STACK_CUT || result->end == GN_UNWIND_NO_RULES) &&
	    may_look_beyond(&start, &live)) {
		result->end = walk_beyond(&start, &live, &walk);
		result->is_beyond |= live.n_reads != 0;
	}
	result->n = walk.n;
	result->n_guessed = walk.n_guessed;
	return 0;
}
