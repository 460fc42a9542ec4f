#include "code_frame.h"

/* Up to here distances are believed. */
#define DEPTH_MAX (1 << 24)
#define WORD 8

static const uint8_t kept[GN_KEPT_REGISTERS] = {3, 6, 12, 13, 14, 15};

/* Its number among those that are kept, GN_KEPT_REGISTERS for others. */
static unsigned int kept_number(unsigned int reg)
{
	unsigned int i = 0;

	while (i < GN_KEPT_REGISTERS && kept[i] != reg)
		i++;
	return i;
}

struct gn_code_frame gn_code_frame_first(void)
{
	return (struct gn_code_frame){
		.depth = WORD, .base = GN_X86_NONE, .return_register = GN_X86_NONE};
}

static int32_t sound(int64_t depth)
{
	return depth >= WORD && depth <= DEPTH_MAX ? (int32_t)depth : 0;
}

static void save(struct gn_code_frame *frame, unsigned int reg, int64_t depth)
{
	const unsigned int i = kept_number(reg);

	if (i < GN_KEPT_REGISTERS && !frame->saved[i] && !(frame->changed & 1u << i))
		frame->saved[i] = sound(depth);
}

static void change(struct gn_code_frame *frame, unsigned int reg)
{
	const unsigned int i = kept_number(reg);

	if (i < GN_KEPT_REGISTERS)
		frame->changed |= (uint8_t)(1u << i);
	if (frame->base == reg)
		frame->base = GN_X86_NONE;
	if (frame->return_register == reg)
		frame->return_register = GN_X86_NONE;
}

/* Where the stack pointer points there is a return address: that of the caller, if the function
 * gave its own up, or its own in another place. */
static void begin_anew(struct gn_code_frame *frame, unsigned int return_register)
{
	const uint8_t changed = frame->changed;

	*frame = gn_code_frame_first();
	frame->changed = changed;
	frame->return_register = (uint8_t)return_register;
}

static void add_to_stack_pointer(struct gn_code_frame *frame, int64_t value)
{
	if (frame->depth && frame->depth == value)
		begin_anew(frame, GN_X86_NONE);
	else if (frame->depth)
		frame->depth = sound(frame->depth - value);
}

static void push(struct gn_code_frame *frame, unsigned int reg)
{
	if (reg != GN_X86_NONE && reg == frame->return_register) {
		begin_anew(frame, GN_X86_NONE);
		return;
	}
	add_to_stack_pointer(frame, -WORD);
	save(frame, reg, frame->depth);
}

static void pop(struct gn_code_frame *frame, unsigned int reg)
{
	const unsigned int i = kept_number(reg);

	change(frame, reg);
	/* As V8's builtins do, to put arguments below it. */
	if (frame->depth == WORD) {
		begin_anew(frame, reg);
		return;
	}
	if (i < GN_KEPT_REGISTERS && frame->depth && frame->saved[i] == frame->depth) {
		frame->saved[i] = 0;
		frame->changed &= (uint8_t)~(1u << i);
	}
	add_to_stack_pointer(frame, WORD);
}

static void take_stack_pointer(struct gn_code_frame *frame, unsigned int reg, int64_t value)
{
	frame->depth = frame->base == reg ? sound(frame->base_depth - value) : 0;
}

/* Frame pointers stay what they are, whatever else points to the stack. */
static void copy_stack_pointer(struct gn_code_frame *frame, unsigned int reg, int64_t value)
{
	const bool is_pointer = frame->base == GN_X86_BP && reg != GN_X86_BP;
	const int32_t depth = frame->depth ? sound(frame->depth - value) : 0;

	change(frame, reg);
	if (is_pointer || !depth || kept_number(reg) == GN_KEPT_REGISTERS)
		return;
	frame->base = (uint8_t)reg;
	frame->base_depth = depth;
}

static void store(struct gn_code_frame *frame, const struct gn_x86_instruction *instruction)
{
	if (instruction->base == GN_X86_SP && frame->depth)
		save(frame, instruction->reg, (int64_t)frame->depth - instruction->value);
	else if (instruction->base == frame->base)
		save(frame, instruction->reg, (int64_t)frame->base_depth - instruction->value);
}

void gn_code_frame_step(struct gn_code_frame *frame, const struct gn_x86_instruction *instruction)
{
	switch (instruction->effect) {
	case GN_X86_PUSH:
		push(frame, instruction->reg);
		break;
	case GN_X86_POP:
		pop(frame, instruction->reg);
		break;
	case GN_X86_SP_ADD:
		add_to_stack_pointer(frame, instruction->value);
		break;
	case GN_X86_SP_FROM:
		take_stack_pointer(frame, instruction->reg, instruction->value);
		break;
	case GN_X86_SP_LOST:
		frame->depth = 0;
		break;
	case GN_X86_LEAVE:
		take_stack_pointer(frame, GN_X86_BP, 0);
		pop(frame, GN_X86_BP);
		break;
	case GN_X86_COPY_SP:
		copy_stack_pointer(frame, instruction->reg, instruction->value);
		break;
	case GN_X86_WRITE:
		change(frame, instruction->reg);
		break;
	case GN_X86_STORE:
		store(frame, instruction);
		break;
	default:
		break;
	}
	if (frame->base == GN_X86_NONE)
		frame->base_depth = 0;
}

void gn_code_frame_merge(struct gn_code_frame *frame, const struct gn_code_frame *other)
{
	if (frame->depth != other->depth)
		frame->depth = 0;
	if (frame->base != other->base || frame->base_depth != other->base_depth) {
		frame->base = GN_X86_NONE;
		frame->base_depth = 0;
	}
	for (unsigned int i = 0; i < GN_KEPT_REGISTERS; i++)
		if (frame->saved[i] != other->saved[i])
			frame->saved[i] = 0;
	frame->changed |= other->changed;
	if (frame->return_register != other->return_register)
		frame->return_register = GN_X86_NONE;
}

static void add_rule(struct gn_rule_row *row, unsigned int target, int32_t depth)
{
	row->rules[row->n_rules++] =
		(struct gn_rule){(uint8_t)target, GN_RULE_AT_OFFSET, 0, -depth};
}

bool gn_code_frame_row(const struct gn_code_frame *frame, struct gn_rule_row *row)
{
	/* Calls may change the stack pointer (of arguments some callees dispose), but no pointer
	 * into the frame. */
	const bool has_base = frame->base != GN_X86_NONE;

	if (!has_base && !frame->depth)
		return false;
	*row = (struct gn_rule_row){.flags = GN_ROW_BY_CODE,
				    .return_column = 16,
				    .cfa_kind = GN_RULE_OFFSET,
				    .base = has_base ? frame->base : GN_X86_SP,
				    .cfa_value = has_base ? frame->base_depth : frame->depth};
	for (unsigned int i = 0; i < GN_KEPT_REGISTERS; i++)
		if (frame->saved[i])
			add_rule(row, kept[i], frame->saved[i]);
	add_rule(row, 16, WORD);
	return true;
}
