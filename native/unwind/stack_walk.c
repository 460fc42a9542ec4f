#include "stack_walk.h"

#include <errno.h>

#include "frame_step.h"

static bool is_executing(const struct gn_walk *walk)
{
	return !(walk->flags & GN_UNWIND_RETURN);
}

static uint64_t stack_pointer(const struct gn_walk *walk)
{
	return walk->registers.value[walk->machine->stack_pointer];
}

static uint64_t program_counter(const struct gn_walk *walk)
{
	return walk->registers.value[walk->machine->program_counter];
}

static enum gn_unwind_end end_of(int error)
{
	switch (error) {
	case -ENODATA:
		return GN_UNWIND_STACK_CUT;
	case -EFAULT:
		return GN_UNWIND_BAD_MEMORY;
	default:
		return GN_UNWIND_NO_RULES;
	}
}

static void add_frame(struct gn_walk *walk, const struct gn_place *place)
{
	walk->frames[walk->n++] = (struct gn_unwind_frame){
		program_counter(walk), place->offset,
		place->mapping ? place->mapping->file : GN_UNWIND_NO_FILE, walk->flags};
	walk->n_guessed += (walk->flags & GN_UNWIND_GUESSED) != 0;
}

/* Code that was built without rules keeps frame pointers: that of just-in-time compilers, and
 * programs that have an entry here and there for what came from elsewhere. */
static bool follow_frame_pointer(struct gn_walk *walk)
{
	struct gn_unwind_registers *registers = &walk->registers;
	const uint64_t frame = registers->value[walk->machine->frame_pointer];
	uint64_t outer, address;

	if (frame % 8 || frame < stack_pointer(walk) ||
	    gn_memory_read(&walk->memory, frame, &outer, 8) ||
	    gn_memory_read(&walk->memory, frame + 8, &address, 8))
		return false;
	address &= walk->machine->address_mask;
	if (address && !gn_space_is_behind_call(walk->space, registers->machine, address))
		return false;
	/* Zeros end a chain of frames; elsewhere they are what buffers are full of. */
	if (!address && (is_executing(walk) || walk->flags & GN_UNWIND_GUESSED))
		return false;
	registers->value[walk->machine->frame_pointer] = outer;
	registers->value[walk->machine->stack_pointer] = frame + 16;
	registers->value[walk->machine->program_counter] = address;
	walk->flags = GN_UNWIND_RETURN | GN_UNWIND_FRAME_POINTER;
	return true;
}

/*
 * On aarch64 a frame pointer tells nothing of the stack pointer of the frame outside: the record
 * that it points to may lie anywhere in a frame. Where that one's rules say where it saved its own
 * frame pointer, there it is.
 */
static void find_stack_pointer(struct gn_walk *walk, const struct gn_rule_row *row)
{
	struct gn_unwind_registers *registers = &walk->registers;
	const uint8_t frame_pointer = walk->machine->frame_pointer;

	if (registers->machine != GN_UNWIND_AARCH64 || !(walk->flags & GN_UNWIND_FRAME_POINTER) ||
	    row->cfa_kind != GN_RULE_OFFSET || row->base != walk->machine->stack_pointer)
		return;
	for (unsigned int i = 0; i < row->n_rules; i++) {
		const struct gn_rule *rule = &row->rules[i];

		if (rule->target == frame_pointer && rule->kind == GN_RULE_AT_OFFSET)
			registers->value[walk->machine->stack_pointer] =
				registers->value[frame_pointer] - (uint64_t)(int64_t)rule->value -
				(uint64_t)(int64_t)row->cfa_value;
	}
}

/* The stack that a signal interrupted: mostly the one that the handler runs on, else a second copy
 * of it is needed. False if it cannot be had. */
static bool enter_interrupted(struct gn_walk *walk, uint64_t signal_frame)
{
	if (stack_pointer(walk) - walk->memory.address < walk->memory.size)
		return true;
	if (walk->is_second_copy || !walk->registers.thread)
		return false;
	walk->is_second_copy = true;
	return !gn_memory_renew(&walk->memory, walk->space->pid, walk->registers.thread,
				signal_frame, stack_pointer(walk), walk->space->files->second_copy,
				GN_SECOND_COPY_BYTES);
}

/* Whether a frame's return address is doubtful: what stands before it calls another function. A
 * jump to this one, as the last thing that the other does, looks alike. */
static bool calls_another(struct gn_walk *walk, const struct gn_place *place, uint64_t address)
{
	const uint64_t target =
		gn_space_call_target(walk->space, walk->registers.machine, program_counter(walk));
	struct gn_frame_entry entry;

	return target && place->file &&
	       !gn_entry_find(&place->file->index, place->offset, &entry) &&
	       target != address - (place->offset - entry.start) &&
	       gn_space_is_function(walk->space, target);
}

/* Instructions tell of a frame what a function does with it, unless it does more: then what seems
 * to be the caller is none. */
static bool leads_to_caller(const struct gn_walk *walk, const struct gn_rule_row *row)
{
	struct gn_unwind_registers registers = walk->registers;
	struct gn_stack_memory memory = walk->memory;
	const int error = gn_frame_step(row, NULL, &memory, is_executing(walk), &registers);
	const uint64_t address = registers.value[walk->machine->program_counter];

	return error == -ENODATA ||
	       (!error && registers.value[walk->machine->stack_pointer] > stack_pointer(walk) &&
		gn_space_is_behind_call(walk->space, registers.machine, address));
}

/* To the caller; true if there is one. */
static bool step(struct gn_walk *walk, const struct gn_rule_row *row, const struct gn_place *place,
		 enum gn_unwind_end *end)
{
	const uint64_t address = program_counter(walk) - !is_executing(walk);
	const struct gn_elf_image *image = place->file ? &place->file->image : NULL;
	const bool was_executing = is_executing(walk);
	uint64_t sp;
	int error;

	find_stack_pointer(walk, row);
	sp = stack_pointer(walk);
	error = gn_frame_step(row, image, &walk->memory, was_executing, &walk->registers);
	if (error) {
		*end = end_of(error);
		return false;
	}
	if (row->flags & GN_ROW_SIGNAL) {
		walk->frames[walk->n - 1].flags |= GN_UNWIND_SIGNAL;
		walk->flags = 0;
		if (enter_interrupted(walk, sp))
			return true;
		/* The interrupted address itself is certain. */
		if (walk->n < walk->n_max && gn_space_is_code(walk->space, program_counter(walk))) {
			const struct gn_place interrupted =
				gn_space_place(walk->space, program_counter(walk));

			add_frame(walk, &interrupted);
		}
		*end = GN_UNWIND_STACK_CUT;
		return false;
	}
	/* Only aarch64 calls without using the stack. */
	if (stack_pointer(walk) < sp || (stack_pointer(walk) == sp && !was_executing)) {
		*end = GN_UNWIND_BAD_MEMORY;
		return false;
	}
	walk->flags = GN_UNWIND_RETURN | (row->flags & GN_ROW_BY_CODE ? GN_UNWIND_BY_CODE : 0u);
	if (gn_memory_is_beyond(&walk->memory, stack_pointer(walk) - 1))
		walk->is_second_copy = walk->memory.live != NULL;
	if (!walk->is_second_copy || !program_counter(walk))
		return true;
	walk->flags |= GN_UNWIND_GUESSED;
	*end = GN_UNWIND_BAD_MEMORY;
	if (walk->memory.live && walk->memory.live->is_doubtful &&
	    calls_another(walk, place, address))
		return false;
	return gn_space_is_behind_call(walk->space, walk->registers.machine, program_counter(walk));
}

static const struct gn_rule_row *row_at(struct gn_walk *walk, const struct gn_place *place,
					uint32_t number)
{
	const enum gn_unwind_machine machine = walk->registers.machine;
	const struct gn_rule_row *row = NULL;

	if (number != GN_ROW_NONE)
		row = &place->file->cache.rows[number];
	/* The rules of aarch64's way back from signals lead to the interrupted function's caller.
	 */
	if (row && (machine == GN_UNWIND_X86_64 || !(row->flags & GN_ROW_SIGNAL)))
		return row;
	row = gn_space_code_row(walk->space, machine, program_counter(walk), !is_executing(walk));
	return row && row->flags & GN_ROW_BY_CODE && !leads_to_caller(walk, row) ? NULL : row;
}

enum gn_unwind_end gn_walk(struct gn_walk *walk)
{
	const enum gn_unwind_machine machine = walk->registers.machine;
	enum gn_unwind_end end;

	for (;;) {
		const struct gn_rule_row *row;
		struct gn_place place;
		uint32_t number = GN_ROW_NONE;

		if (walk->n && !program_counter(walk))
			return GN_UNWIND_COMPLETE;
		place = gn_space_place(walk->space, program_counter(walk) - !is_executing(walk));
		if (walk->n && (!place.mapping || !place.mapping->is_code))
			return GN_UNWIND_BAD_MEMORY;
		if (walk->n == walk->n_max)
			return GN_UNWIND_TOO_DEEP;
		add_frame(walk, &place);
		if (place.file && place.file->image.machine == machine)
			number = gn_rule_file_row(place.file, place.offset, !is_executing(walk));
		if (number == GN_ROW_ROOT)
			return GN_UNWIND_COMPLETE;
		row = row_at(walk, &place, number);
		if (row) {
			if (!step(walk, row, &place, &end))
				return end;
			continue;
		}
		if ((place.file && !place.file->is_sparse) || !follow_frame_pointer(walk))
			return GN_UNWIND_NO_RULES;
	}
}
