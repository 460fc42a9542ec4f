#include "frame_step.h"

#include <errno.h>

#include "expression.h"
#include "machine_code.h"

struct step {
	const struct gn_rule_row *row;
	const struct gn_section *section;
	struct gn_stack_memory *memory;
	const struct gn_unwind_registers *registers;
	uint64_t cfa;
	/* Of the frame, if what lies below it is no longer saved there; else 0. */
	uint64_t lowest_saved;
	/* The frame pointer is the caller's already, and rules by it make no sense. */
	bool is_pointer_restored;
};

static int evaluate(const struct step *step, int32_t offset, uint16_t length, const uint64_t *first,
		    uint64_t *value)
{
	const uint64_t begin = (uint64_t)offset;

	if (!step->section || offset < 0 || begin > step->section->size ||
	    length > step->section->size - begin)
		return -EBADMSG;
	return gn_expression(step->section->bytes + begin, length, first, step->registers,
			     step->memory, value);
}

/* Epilogues do not tell that a register was popped: its place says it. */
static int saved_value(const struct step *step, const struct gn_rule *rule, uint64_t address,
		       uint64_t *value)
{
	if (address < step->lowest_saved && rule->target != step->row->return_column)
		return 0;
	return gn_memory_read(step->memory, address, value, 8);
}

static int caller_value(const struct step *step, const struct gn_rule *rule, uint64_t *value)
{
	uint64_t result;
	int error;

	switch (rule->kind) {
	case GN_RULE_AT_OFFSET:
		return saved_value(step, rule, step->cfa + (uint64_t)(int64_t)rule->value, value);
	case GN_RULE_OFFSET:
		*value = step->cfa + (uint64_t)(int64_t)rule->value;
		return 0;
	case GN_RULE_REGISTER:
		if (rule->value < 0 || rule->value >= GN_UNWIND_REGISTERS_MAX)
			return -EBADMSG;
		*value = step->registers->value[rule->value];
		return 0;
	case GN_RULE_AT_EXPRESSION:
		if (step->is_pointer_restored)
			return 0;
		error = evaluate(step, rule->value, rule->length, &step->cfa, &result);
		return error ? error : saved_value(step, rule, result, value);
	case GN_RULE_EXPRESSION:
		return evaluate(step, rule->value, rule->length, &step->cfa, value);
	default:
		return 0;
	}
}

/*
 * GCC's functions that realign their stack keep registers in places relative to the frame pointer,
 * and leave that rule in force when the pointer is popped. While it holds, a copy of the return
 * address lies above what it points to.
 */
static bool is_pointer_restored(const struct step *step, unsigned int frame_pointer)
{
	uint64_t copied, address;

	for (unsigned int i = 0; i < step->row->n_rules; i++)
		if (step->row->rules[i].target == frame_pointer &&
		    step->row->rules[i].kind == GN_RULE_AT_EXPRESSION)
			return gn_memory_read(step->memory,
					      step->registers->value[frame_pointer] + 8, &copied,
					      8) ||
			       gn_memory_read(step->memory, step->cfa - 8, &address, 8) ||
			       copied != address;
	return false;
}

int gn_frame_step(const struct gn_rule_row *row, const struct gn_elf_image *image,
		  struct gn_stack_memory *memory, bool is_executing,
		  struct gn_unwind_registers *registers)
{
	const struct gn_machine *machine = gn_machine(registers->machine);
	struct step step = {.row = row, .memory = memory, .registers = registers};
	/* By rule. Rules refer to what registers are before the step. */
	uint64_t caller[GN_UNWIND_REGISTERS_MAX];
	bool has_return = is_executing && row->return_column < machine->stack_pointer;
	int error;

	if (image)
		step.section =
			row->flags & GN_ROW_DEBUG_FRAME ? &image->debug_frame : &image->eh_frame;
	if (row->cfa_kind == GN_RULE_OFFSET) {
		step.cfa = registers->value[row->base] + (uint64_t)(int64_t)row->cfa_value;
	} else {
		error = evaluate(&step, row->cfa_value, row->cfa_length, NULL, &step.cfa);
		if (error)
			return error;
	}
	if (is_executing && !(row->flags & GN_ROW_SIGNAL)) {
		step.lowest_saved = registers->value[machine->stack_pointer];
		step.is_pointer_restored = row->cfa_kind == GN_RULE_OFFSET &&
					   is_pointer_restored(&step, machine->frame_pointer);
	}
	for (unsigned int i = 0; i < row->n_rules; i++) {
		const struct gn_rule *rule = &row->rules[i];

		caller[i] = rule->target == machine->stack_pointer ? step.cfa
								   : registers->value[rule->target];
		error = caller_value(&step, rule, &caller[i]);
		if (error)
			return error;
		has_return |= rule->target == row->return_column;
	}
	if (!has_return)
		return -EBADMSG;
	registers->value[machine->stack_pointer] = step.cfa;
	for (unsigned int i = 0; i < row->n_rules; i++)
		registers->value[row->rules[i].target] = caller[i];
	registers->value[machine->program_counter] =
		registers->value[row->return_column] & machine->address_mask;
	return 0;
}
