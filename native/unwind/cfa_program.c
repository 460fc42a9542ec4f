#include "cfa_program.h"

#include <errno.h>

#include "byte_reader.h"

/* Programs of compilers nest one or two levels. */
#define STATES_MAX 16

/* Rules by register, as a program changes them. */
struct state {
	struct gn_rule rules[GN_UNWIND_REGISTERS_MAX];
	struct gn_rule cfa;
	/* Of the CFA. */
	uint64_t base;
};

struct run {
	const struct gn_frame_entry *entry;
	struct gn_reader reader;
	uint64_t wanted;
	/* Where the program has come to; the first address is the entry's. */
	uint64_t address;
	struct state state;
	struct state initial;
	bool is_initial;
	struct state saved[STATES_MAX];
	unsigned int n_saved;
};

static void set_rule(struct run *run, uint64_t target, enum gn_rule_kind kind, int64_t value,
		     uint64_t length)
{
	/* Registers for floating point and vectors are of no use here. */
	if (target >= GN_UNWIND_REGISTERS_MAX)
		return;
	if (value < INT32_MIN || value > INT32_MAX || length > UINT16_MAX) {
		run->reader.failed = true;
		return;
	}
	run->state.rules[target] =
		(struct gn_rule){(uint8_t)target, (uint8_t)kind, (uint16_t)length, (int32_t)value};
}

static void set_cfa(struct run *run, enum gn_rule_kind kind, uint64_t base, int64_t value,
		    uint64_t length)
{
	if (base >= GN_UNWIND_REGISTERS_MAX || value < INT32_MIN || value > INT32_MAX ||
	    length > UINT16_MAX) {
		run->reader.failed = true;
		return;
	}
	run->state.base = base;
	run->state.cfa = (struct gn_rule){0, (uint8_t)kind, (uint16_t)length, (int32_t)value};
}

static int64_t factored(const struct run *run, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)run->entry->data_factor);
}

/* An expression in the program: its length, then its bytes. */
static void set_expression(struct run *run, uint64_t target, enum gn_rule_kind kind)
{
	uint64_t length = gn_read_uleb(&run->reader);
	uint64_t offset = run->reader.at;

	gn_skip(&run->reader, length);
	if (run->reader.failed)
		return;
	if (target == UINT64_MAX)
		set_cfa(run, kind, 0, (int64_t)offset, length);
	else
		set_rule(run, target, kind, (int64_t)offset, length);
}

static void restore_rule(struct run *run, uint64_t target)
{
	if (run->is_initial)
		run->reader.failed = true;
	else if (target < GN_UNWIND_REGISTERS_MAX)
		run->state.rules[target] = run->initial.rules[target];
}

static void restore_state(struct run *run)
{
	if (run->n_saved)
		run->state = run->saved[--run->n_saved];
	else
		run->reader.failed = true;
}

static void save_state(struct run *run)
{
	if (run->n_saved < STATES_MAX)
		run->saved[run->n_saved++] = run->state;
	else
		run->reader.failed = true;
}

/* Moves on; false if the wanted address is passed by that. */
static bool advance(struct run *run, uint64_t delta)
{
	run->address += delta * run->entry->code_factor;
	return run->address <= run->wanted;
}

static bool advance_to(struct run *run)
{
	const struct gn_frame_entry *entry = run->entry;
	uint64_t place = entry->section->address + run->reader.at;

	/* DW_CFA_set_loc is written by no compiler for these machines but in these forms. */
	switch (entry->pointer_encoding) {
	case 0x00:
		run->address = gn_read_u64(&run->reader);
		break;
	case 0x1b:
		run->address = place + (uint64_t)(int64_t)(int32_t)gn_read_u32(&run->reader);
		break;
	default:
		run->reader.failed = true;
		return false;
	}
	return run->address <= run->wanted;
}

/* Source: DWARF 5, 6.4.2 and 7.24; for 0x1d and up: GNU. False: what follows is beyond. */
static bool execute(struct run *run)
{
	struct gn_reader *reader = &run->reader;
	uint8_t operation = gn_read_u8(reader);
	uint64_t target = operation & 0x3f;

	switch (operation >> 6) {
	case 1:
		return advance(run, target);
	case 2:
		set_rule(run, target, GN_RULE_AT_OFFSET,
			 factored(run, (int64_t)gn_read_uleb(reader)), 0);
		return true;
	case 3:
		restore_rule(run, target);
		return true;
	default:
		break;
	}
	switch (operation) {
	case 0x00: /* nop */
		return true;
	case 0x01:
		return advance_to(run);
	case 0x02:
		return advance(run, gn_read_u8(reader));
	case 0x03:
		return advance(run, gn_read_u16(reader));
	case 0x04:
		return advance(run, gn_read_u32(reader));
	case 0x0a:
		save_state(run);
		return true;
	case 0x0b:
		restore_state(run);
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(run, run->state.cfa.kind, gn_read_uleb(reader), run->state.cfa.value, 0);
		return true;
	case 0x0e: /* def_cfa_offset */
		set_cfa(run, run->state.cfa.kind, run->state.base, (int64_t)gn_read_uleb(reader),
			0);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(run, run->state.cfa.kind, run->state.base,
			factored(run, gn_read_sleb(reader)), 0);
		return true;
	case 0x0f:
		set_expression(run, UINT64_MAX, GN_RULE_EXPRESSION);
		return true;
	case 0x2d: /* aarch64: negate_ra_state; the signature is taken off in any case */
		return true;
	case 0x2e: /* GNU_args_size */
		gn_read_uleb(reader);
		return true;
	default:
		break;
	}
	target = gn_read_uleb(reader);
	switch (operation) {
	case 0x05: /* offset_extended */
		set_rule(run, target, GN_RULE_AT_OFFSET,
			 factored(run, (int64_t)gn_read_uleb(reader)), 0);
		return true;
	case 0x06: /* restore_extended */
		restore_rule(run, target);
		return true;
	case 0x07:
		set_rule(run, target, GN_RULE_UNDEFINED, 0, 0);
		return true;
	case 0x08:
		set_rule(run, target, GN_RULE_SAME, 0, 0);
		return true;
	case 0x09:
		set_rule(run, target, GN_RULE_REGISTER, (int64_t)gn_read_uleb(reader), 0);
		return true;
	case 0x0c: /* def_cfa */
		set_cfa(run, GN_RULE_OFFSET, target, (int64_t)gn_read_uleb(reader), 0);
		return true;
	case 0x12: /* def_cfa_sf */
		set_cfa(run, GN_RULE_OFFSET, target, factored(run, gn_read_sleb(reader)), 0);
		return true;
	case 0x10:
		set_expression(run, target, GN_RULE_AT_EXPRESSION);
		return true;
	case 0x16:
		set_expression(run, target, GN_RULE_EXPRESSION);
		return true;
	case 0x11: /* offset_extended_sf */
		set_rule(run, target, GN_RULE_AT_OFFSET, factored(run, gn_read_sleb(reader)), 0);
		return true;
	case 0x14: /* val_offset */
		set_rule(run, target, GN_RULE_OFFSET, factored(run, (int64_t)gn_read_uleb(reader)),
			 0);
		return true;
	case 0x15: /* val_offset_sf */
		set_rule(run, target, GN_RULE_OFFSET, factored(run, gn_read_sleb(reader)), 0);
		return true;
	case 0x2f: /* GNU_negative_offset_extended */
		set_rule(run, target, GN_RULE_AT_OFFSET,
			 factored(run, (int64_t)(0 - gn_read_uleb(reader))), 0);
		return true;
	default:
		reader->failed = true;
		return false;
	}
}

static bool run_program(struct run *run, uint64_t at, uint64_t end)
{
	run->reader = gn_reader_of(run->entry->section->bytes, at, end);
	while (!run->reader.failed && run->reader.at < end)
		if (!execute(run))
			break;
	return !run->reader.failed;
}

int gn_cfa_row(const struct gn_frame_entry *entry, enum gn_unwind_machine machine, uint64_t address,
	       struct gn_rule_row *row)
{
	const uint64_t last = machine == GN_UNWIND_X86_64 ? 16 : 30;
	struct run run;

	if (entry->return_column > last)
		return -EBADMSG;
	/* Not the saved states: they are written before they are read. */
	run.entry = entry;
	run.wanted = address;
	run.address = entry->start;
	run.n_saved = 0;
	run.is_initial = true;
	memset(&run.state, 0, sizeof(run.state));
	if (!run_program(&run, entry->initial_at, entry->initial_end))
		return -EBADMSG;
	run.initial = run.state;
	run.is_initial = false;
	run.address = entry->start;
	if (!run_program(&run, entry->program_at, entry->program_end))
		return -EBADMSG;
	if (run.state.cfa.kind != GN_RULE_OFFSET && run.state.cfa.kind != GN_RULE_EXPRESSION)
		return -EBADMSG;
	*row = (struct gn_rule_row){
		.flags = (entry->is_signal_frame ? GN_ROW_SIGNAL : 0) |
			 (entry->is_debug_frame ? GN_ROW_DEBUG_FRAME : 0),
		.return_column = (uint8_t)entry->return_column,
		.cfa_kind = run.state.cfa.kind,
		.base = (uint16_t)run.state.base,
		.cfa_length = run.state.cfa.length,
		.cfa_value = run.state.cfa.value,
	};
	for (unsigned int i = 0; i <= last + (machine == GN_UNWIND_AARCH64); i++)
		if (run.state.rules[i].kind != GN_RULE_SAME)
			row->rules[row->n_rules++] = run.state.rules[i];
	return 0;
}
