#include "expression.h"

#include <errno.h>

#include "byte_reader.h"

#define VALUES_MAX 32
/* Those of compilers have about ten. */
#define STEPS_MAX 1000

struct evaluation {
	struct gn_reader reader;
	const struct gn_unwind_registers *registers;
	struct gn_stack_memory *memory;
	uint64_t values[VALUES_MAX];
	unsigned int n;
	int error;
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->n < VALUES_MAX)
		e->values[e->n++] = value;
	else
		e->error = -EBADMSG;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->n)
		return e->values[--e->n];
	e->error = -EBADMSG;
	return 0;
}

static void push_nth(struct evaluation *e, unsigned int n)
{
	if (n < e->n)
		push(e, e->values[e->n - 1 - n]);
	else
		e->error = -EBADMSG;
}

static void push_register(struct evaluation *e, uint64_t number, int64_t offset)
{
	if (number < GN_UNWIND_REGISTERS_MAX)
		push(e, e->registers->value[number] + (uint64_t)offset);
	else
		e->error = -EBADMSG;
}

static void push_memory(struct evaluation *e, unsigned int bytes)
{
	uint64_t address = pop(e), value = 0;

	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		e->error = -EBADMSG;
	if (!e->error)
		e->error = gn_memory_read(e->memory, address, &value, bytes);
	push(e, value);
}

static void jump(struct evaluation *e, bool does)
{
	int16_t distance = (int16_t)gn_read_u16(&e->reader);
	uint64_t target = e->reader.at + (uint64_t)(int64_t)distance;

	if (!does)
		return;
	if (target > e->reader.end)
		e->error = -EBADMSG;
	else
		e->reader.at = target;
}

static void swap(struct evaluation *e)
{
	uint64_t top = pop(e), second = pop(e);

	push(e, top);
	push(e, second);
}

static void rotate(struct evaluation *e)
{
	uint64_t top = pop(e), second = pop(e), third = pop(e);

	push(e, top);
	push(e, third);
	push(e, second);
}

/* Operations on two values, the second of which is on top. Source: DWARF 5, 2.5.1.4 and 2.5.1.5. */
static void combine(struct evaluation *e, uint8_t operation)
{
	uint64_t b = pop(e), a = pop(e);
	int64_t signed_a = (int64_t)a, signed_b = (int64_t)b;

	if ((operation == 0x1b || operation == 0x1d) && !b) {
		e->error = -EBADMSG;
		return;
	}
	switch (operation) {
	case 0x1a:
		a &= b;
		break;
	case 0x1b: /* signed division; by -1 in a way that cannot overflow */
		a = signed_b == -1 ? 0 - a : (uint64_t)(signed_a / signed_b);
		break;
	case 0x1c:
		a -= b;
		break;
	case 0x1d:
		a %= b;
		break;
	case 0x1e:
		a *= b;
		break;
	case 0x21:
		a |= b;
		break;
	case 0x22:
		a += b;
		break;
	case 0x24:
		a = b < 64 ? a << b : 0;
		break;
	case 0x25:
		a = b < 64 ? a >> b : 0;
		break;
	case 0x26:
		a = (uint64_t)(signed_a >> (b < 64 ? b : 63));
		break;
	case 0x27:
		a ^= b;
		break;
	case 0x29:
		a = a == b;
		break;
	case 0x2a:
		a = signed_a >= signed_b;
		break;
	case 0x2b:
		a = signed_a > signed_b;
		break;
	case 0x2c:
		a = signed_a <= signed_b;
		break;
	case 0x2d:
		a = signed_a < signed_b;
		break;
	case 0x2e:
		a = a != b;
		break;
	default:
		e->error = -EBADMSG;
		return;
	}
	push(e, a);
}

/* Source: DWARF 5, 7.7.1. */
static void step(struct evaluation *e)
{
	struct gn_reader *reader = &e->reader;
	uint8_t operation = gn_read_u8(reader);
	uint64_t value;

	if (operation >= 0x30 && operation <= 0x4f) {
		push(e, operation - 0x30u);
		return;
	}
	if (operation >= 0x70 && operation <= 0x8f) {
		push_register(e, operation - 0x70u, gn_read_sleb(reader));
		return;
	}
	switch (operation) {
	case 0x03: /* addr: in a position-independent file it would have to be moved */
	case 0x06:
		if (operation == 0x03)
			e->error = -EBADMSG;
		else
			push_memory(e, 8);
		break;
	case 0x08:
		push(e, gn_read_u8(reader));
		break;
	case 0x09:
		push(e, (uint64_t)(int64_t)(int8_t)gn_read_u8(reader));
		break;
	case 0x0a:
		push(e, gn_read_u16(reader));
		break;
	case 0x0b:
		push(e, (uint64_t)(int64_t)(int16_t)gn_read_u16(reader));
		break;
	case 0x0c:
		push(e, gn_read_u32(reader));
		break;
	case 0x0d:
		push(e, (uint64_t)(int64_t)(int32_t)gn_read_u32(reader));
		break;
	case 0x0e:
	case 0x0f:
		push(e, gn_read_u64(reader));
		break;
	case 0x10:
		push(e, gn_read_uleb(reader));
		break;
	case 0x11:
		push(e, (uint64_t)gn_read_sleb(reader));
		break;
	case 0x12: /* dup */
		push_nth(e, 0);
		break;
	case 0x13: /* drop */
		pop(e);
		break;
	case 0x14: /* over */
		push_nth(e, 1);
		break;
	case 0x15: /* pick */
		push_nth(e, gn_read_u8(reader));
		break;
	case 0x16:
		swap(e);
		break;
	case 0x17:
		rotate(e);
		break;
	case 0x19: /* abs */
		value = pop(e);
		push(e, (int64_t)value < 0 ? 0 - value : value);
		break;
	case 0x1f: /* neg */
		push(e, 0 - pop(e));
		break;
	case 0x20: /* not */
		push(e, ~pop(e));
		break;
	case 0x23: /* plus_uconst */
		value = pop(e);
		push(e, value + gn_read_uleb(reader));
		break;
	case 0x28: /* bra */
		jump(e, pop(e) != 0);
		break;
	case 0x2f: /* skip */
		jump(e, true);
		break;
	case 0x92: /* bregx */
		value = gn_read_uleb(reader);
		push_register(e, value, gn_read_sleb(reader));
		break;
	case 0x94: /* deref_size */
		push_memory(e, gn_read_u8(reader));
		break;
	case 0x96: /* nop */
		break;
	default:
		combine(e, operation);
		break;
	}
}

int gn_expression(const uint8_t *bytes, uint64_t n, const uint64_t *first,
		  const struct gn_unwind_registers *registers, struct gn_stack_memory *memory,
		  uint64_t *result)
{
	struct evaluation e = {.registers = registers, .memory = memory};

	e.reader = gn_reader_of(bytes, 0, n);
	if (first)
		push(&e, *first);
	for (unsigned int steps = 0; e.reader.at < e.reader.end; steps++) {
		if (steps == STEPS_MAX)
			return -EBADMSG;
		step(&e);
		if (e.error)
			return e.error;
		if (e.reader.failed)
			return -EBADMSG;
	}
	*result = pop(&e);
	return e.error;
}
