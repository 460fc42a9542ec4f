#include "x86_instruction.h"

#include <string.h>

/* Source of all: Intel SDM, volume 2, chapter 2 and appendix A. */

unsigned int gn_x86_register(unsigned int number)
{
	static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

	return numbers[number & 15];
}

size_t gn_x86_operand_bytes(const uint8_t *bytes, size_t n)
{
	unsigned int mode, base;
	size_t length = 1;

	if (!n)
		return 0;
	mode = bytes[0] >> 6;
	base = bytes[0] & 7;
	if (mode == 3)
		return length;
	if (base == 4) {
		if (n < 2)
			return 0;
		length = 2;
		if (mode == 0 && (bytes[1] & 7) == 5)
			return length + 4;
	} else if (mode == 0 && base == 5) {
		return length + 4;
	}
	return mode == 1 ? length + 1 : mode == 2 ? length + 4 : length;
}

/*
 * What follows each opcode: '.' nothing, 'm' an operand (ModRM), '1', '2', '4' so many bytes of a
 * number ('4' are 2 behind a prefix 66), 'b' and 'd' an operand and 1 or 4 bytes, 'q' 4 bytes or
 * with REX.W 8, 'a' an address, '3' three bytes, 'n' a number only if it is a test, ' ' no
 * instruction.
 */
static const char one_byte[] = "mmmm14  mmmm14  mmmm14  mmmm14  "
			       "mmmm14  mmmm14  mmmm14  mmmm14  "
			       "                ................"
			       "   m    4d1b....1111111111111111"
			       "bd bmmmmmmmmmmmm.......... ....."
			       "aaaa....14......11111111qqqqqqqq"
			       "bb2.  bd3.2..1 .mmmm   .mmmmmmmm"
			       "1111111144 1.... .  ..nn......mm";

/* Behind 0F. */
static const char two_bytes[] = "mmmm ..... . m.bmmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm...... .        "
				"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmmbbbbmmm.mmmmmmmm"
				"4444444444444444mmmmmmmmmmmmmmmm"
				"...mbm  ...mbmmmmmmmmmmmmmbmmmmm"
				"mmbmbbbm........mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm";

struct decoder {
	const uint8_t *bytes;
	size_t n;
	size_t at;
	uint8_t rex;
	bool is_short; /* prefix 66 */
	/* 0 to 3: the opcode's map; vectors have prefixes of another kind. */
	unsigned int map;
	bool is_vector;
	uint8_t opcode;
	/* Where the operand is, 0: there is none. */
	size_t operand;
};

static bool take(struct decoder *decoder, uint8_t *byte)
{
	if (decoder->at >= decoder->n)
		return false;
	*byte = decoder->bytes[decoder->at++];
	return true;
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
}

/* VEX, EVEX and XOP: one to three bytes behind the first, then the opcode. */
static bool read_vector(struct decoder *decoder, uint8_t first)
{
	uint8_t bytes[3] = {1};
	const unsigned int n = first == 0xc5 ? 1 : first == 0x62 ? 3 : 2;

	for (unsigned int i = 0; i < n; i++)
		if (!take(decoder, &bytes[i]))
			return false;
	decoder->is_vector = true;
	decoder->map = first == 0xc5 ? 1 : bytes[0] & (first == 0x62 ? 7 : 31);
	return take(decoder, &decoder->opcode);
}

static bool read_opcode(struct decoder *decoder)
{
	uint8_t byte;

	do {
		if (!take(decoder, &byte))
			return false;
		decoder->is_short |= byte == 0x66;
	} while (is_prefix(byte));
	if ((byte & 0xf0) == 0x40) {
		decoder->rex = byte;
		if (!take(decoder, &byte))
			return false;
	}
	/* XOP stands where POP's operand would be none. */
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 ||
	    (byte == 0x8f && decoder->at < decoder->n && (decoder->bytes[decoder->at] & 31) >= 8))
		return read_vector(decoder, byte);
	decoder->opcode = byte;
	if (byte != 0x0f)
		return true;
	decoder->map = 1;
	if (!take(decoder, &decoder->opcode))
		return false;
	if (decoder->opcode != 0x38 && decoder->opcode != 0x3a)
		return true;
	decoder->map = decoder->opcode == 0x38 ? 2 : 3;
	return take(decoder, &decoder->opcode);
}

static char form_of(const struct decoder *decoder)
{
	switch (decoder->map) {
	case 0:
		return decoder->is_vector ? ' ' : one_byte[decoder->opcode];
	case 1:
		return two_bytes[decoder->opcode];
	case 3:
	case 8:
		return 'b';
	case 10:
		return 'd';
	default:
		return 'm';
	}
}

static bool read_rest(struct decoder *decoder)
{
	const char form = form_of(decoder);
	const bool is_short = decoder->is_short && !(decoder->rex & 8);
	/* The distance of a jump or call is 4 bytes long whatever stands before it. */
	const size_t word = is_short && decoder->map == 0 && decoder->opcode < 0xe8 ? 2 : 4;
	size_t number = 0, operand;

	if (form == ' ')
		return false;
	if (strchr("mbdn", form)) {
		decoder->operand = decoder->at;
		operand = gn_x86_operand_bytes(decoder->bytes + decoder->at,
					       decoder->n - decoder->at);
		if (!operand)
			return false;
		decoder->at += operand;
	}
	switch (form) {
	case '1':
	case 'b':
		number = 1;
		break;
	case '2':
		number = 2;
		break;
	case '3':
		number = 3;
		break;
	case '4':
	case 'd':
		number = word;
		break;
	case 'q':
		number = decoder->rex & 8 ? 8 : word;
		break;
	case 'a':
		number = 8;
		break;
	case 'n':
		if (!(decoder->bytes[decoder->operand] & 0x30))
			number = decoder->opcode == 0xf6 ? 1 : is_short ? 2 : 4;
		break;
	default:
		break;
	}
	decoder->at += number;
	return decoder->at <= decoder->n && decoder->at <= GN_X86_INSTRUCTION_MAX;
}

/* --- effects ---------------------------------------------------------------------------------- */

/* The operand, as far as it is a register, or memory at a register plus a number. */
struct operand {
	bool is_register;
	/* Of its register, or of memory's base; GN_X86_NONE if there is more to it. */
	uint8_t number;
	/* The other operand, or what tells operations of an opcode apart. */
	uint8_t other;
	uint8_t operation;
	int32_t offset;
};

static struct operand operand_of(const struct decoder *decoder)
{
	const uint8_t *bytes = decoder->bytes + decoder->operand;
	const unsigned int mode = bytes[0] >> 6, high = decoder->rex & 1 ? 8 : 0;
	struct operand operand = {.is_register = mode == 3, .operation = bytes[0] >> 3 & 7};
	const uint8_t *offset = bytes + 1;

	operand.number = (uint8_t)gn_x86_register((bytes[0] & 7u) + high);
	operand.other = (uint8_t)gn_x86_register(operand.operation + (decoder->rex & 4 ? 8u : 0u));
	if (mode == 3)
		return operand;
	if ((bytes[0] & 7) == 4) {
		operand.number = (uint8_t)gn_x86_register((bytes[1] & 7u) + high);
		/* Without an index. */
		if ((bytes[1] & 0x38) != 0x20 || decoder->rex & 2)
			operand.number = GN_X86_NONE;
		offset++;
	}
	if (mode == 0 && ((bytes[0] & 7) == 5 || ((bytes[0] & 7) == 4 && (bytes[1] & 7) == 5)))
		operand.number = GN_X86_NONE;
	if (mode == 1)
		operand.offset = (int8_t)*offset;
	else if (mode == 2)
		memcpy(&operand.offset, offset, 4);
	return operand;
}

/* The number that an instruction ends with. */
static int32_t last_number(const struct decoder *decoder, size_t bytes)
{
	int32_t value;

	if (bytes == 1)
		return (int8_t)decoder->bytes[decoder->at - 1];
	memcpy(&value, decoder->bytes + decoder->at - 4, 4);
	return value;
}

static void set(struct gn_x86_instruction *instruction, enum gn_x86_effect effect, unsigned int reg,
		int32_t value)
{
	instruction->effect = effect;
	instruction->reg = (uint8_t)reg;
	instruction->value = value;
}

/* What is written to a register: from another one plus a value, or from anything (GN_X86_NONE). */
static void write_register(struct gn_x86_instruction *instruction, unsigned int to,
			   unsigned int from, int32_t value)
{
	if (to == GN_X86_SP && from == GN_X86_SP)
		set(instruction, GN_X86_SP_ADD, to, value);
	else if (to == GN_X86_SP && from != GN_X86_NONE)
		set(instruction, GN_X86_SP_FROM, from, value);
	else if (to == GN_X86_SP)
		set(instruction, GN_X86_SP_LOST, to, 0);
	else if (from == GN_X86_SP)
		set(instruction, GN_X86_COPY_SP, to, value);
	else
		set(instruction, GN_X86_WRITE, to, 0);
}

/* ADD to CMP with a number (80 to 83), of which CMP writes nothing. */
static void group_1(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const struct operand operand = operand_of(decoder);
	int32_t value;

	if (!operand.is_register || operand.operation == 7)
		return;
	if (operand.number != GN_X86_SP || decoder->is_short || !(decoder->rex & 8) ||
	    (operand.operation != 0 && operand.operation != 5)) {
		write_register(instruction, operand.number, GN_X86_NONE, 0);
		return;
	}
	value = last_number(decoder, decoder->opcode == 0x83 ? 1 : 4);
	write_register(instruction, GN_X86_SP, GN_X86_SP,
		       operand.operation == 5 ? (int32_t)(0u - (uint32_t)value) : value);
}

static void move(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const struct operand operand = operand_of(decoder);
	const bool is_whole = decoder->rex & 8;

	if (decoder->opcode == 0x8b) {
		write_register(instruction, operand.other,
			       operand.is_register && is_whole ? operand.number : GN_X86_NONE, 0);
	} else if (operand.is_register) {
		write_register(instruction, operand.number, is_whole ? operand.other : GN_X86_NONE,
			       0);
	} else if (is_whole && operand.number != GN_X86_NONE) {
		set(instruction, GN_X86_STORE, operand.other, operand.offset);
		instruction->base = operand.number;
	}
}

static void group_5(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const struct operand operand = operand_of(decoder);

	if (operand.operation == 6)
		set(instruction, GN_X86_PUSH, GN_X86_NONE, 0);
	else if (operand.operation == 4 || operand.operation == 5)
		set(instruction, GN_X86_END, 0, 0);
	else if (operand.operation < 2 && operand.is_register)
		write_register(instruction, operand.number, GN_X86_NONE, 0);
}

/* ADD to XOR, in both directions, and what else writes its operand or the other one. */
static void arithmetic(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const uint8_t opcode = decoder->opcode;
	const struct operand operand = operand_of(decoder);

	if (opcode >= 0x38 && opcode < 0x40)
		return;
	if ((opcode < 0x40 && (opcode & 2)) || opcode == 0x63 || opcode == 0x69 || opcode == 0x6b)
		write_register(instruction, operand.other, GN_X86_NONE, 0);
	else if (operand.is_register && (opcode < 0x40 || opcode == 0x87))
		write_register(instruction, operand.number, GN_X86_NONE, 0);
	if (opcode == 0x87 && operand.other == GN_X86_SP)
		write_register(instruction, GN_X86_SP, GN_X86_NONE, 0);
}

static void one_byte_effect(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const uint8_t opcode = decoder->opcode;
	const unsigned int reg = gn_x86_register((opcode & 7u) + (decoder->rex & 1 ? 8u : 0u));
	struct operand operand;

	if ((opcode & 0xf0) == 0x50) {
		set(instruction, opcode < 0x58 ? GN_X86_PUSH : GN_X86_POP, reg, 0);
	} else if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0) {
		set(instruction, GN_X86_BRANCH, 0, last_number(decoder, 1));
	} else if (opcode < 0x40 && (opcode & 4) == 0 && (opcode & 1)) {
		arithmetic(decoder, instruction);
	} else if (opcode >= 0xb8 && opcode < 0xc0) {
		write_register(instruction, reg, GN_X86_NONE, 0);
	} else {
		switch (opcode) {
		case 0x63:
		case 0x69:
		case 0x6b:
		case 0x87:
			arithmetic(decoder, instruction);
			break;
		case 0x68:
		case 0x6a:
		case 0x9c:
			set(instruction, GN_X86_PUSH, GN_X86_NONE, 0);
			break;
		case 0x8f:
		case 0x9d:
			set(instruction, GN_X86_POP, GN_X86_NONE, 0);
			break;
		case 0x81:
		case 0x83:
			group_1(decoder, instruction);
			break;
		case 0x89:
		case 0x8b:
			move(decoder, instruction);
			break;
		case 0x8d:
			operand = operand_of(decoder);
			write_register(instruction, operand.other,
				       decoder->rex & 8 ? operand.number : GN_X86_NONE,
				       operand.offset);
			break;
		case 0xc8:
			set(instruction, GN_X86_SP_LOST, 0, 0);
			break;
		case 0xc9:
			set(instruction, GN_X86_LEAVE, 0, 0);
			break;
		case 0xe9:
		case 0xeb:
			set(instruction, GN_X86_JUMP, 0,
			    last_number(decoder, opcode == 0xeb ? 1 : 4));
			break;
		case 0xc2:
		case 0xc3:
		case 0xca:
		case 0xcb:
		case 0xcc:
		case 0xcf:
		case 0xf4:
			set(instruction, GN_X86_END, 0, 0);
			break;
		case 0xff:
			group_5(decoder, instruction);
			break;
		default:
			break;
		}
	}
}

static void two_byte_effect(const struct decoder *decoder, struct gn_x86_instruction *instruction)
{
	const uint8_t opcode = decoder->opcode;

	if ((opcode & 0xf0) == 0x80)
		set(instruction, GN_X86_BRANCH, 0, last_number(decoder, 4));
	else if (opcode == 0x0b)
		set(instruction, GN_X86_END, 0, 0);
	/* CMOV, IMUL, MOVZX, MOVSX */
	else if ((opcode & 0xf0) == 0x40 || opcode == 0xaf || (opcode & 0xf6) == 0xb6)
		write_register(instruction, operand_of(decoder).other, GN_X86_NONE, 0);
	/* PUSH and POP of FS and GS */
	else if ((opcode & 0xf7) == 0xa0)
		set(instruction, GN_X86_PUSH, GN_X86_NONE, 0);
	else if ((opcode & 0xf7) == 0xa1)
		set(instruction, GN_X86_POP, GN_X86_NONE, 0);
}

bool gn_x86_read(const uint8_t *bytes, size_t n, struct gn_x86_instruction *instruction)
{
	struct decoder decoder = {.bytes = bytes, .n = n};

	if (!read_opcode(&decoder) || !read_rest(&decoder))
		return false;
	*instruction = (struct gn_x86_instruction){.bytes = (uint8_t)decoder.at};
	if (decoder.is_vector)
		return true;
	if (decoder.map == 0)
		one_byte_effect(&decoder, instruction);
	else if (decoder.map == 1)
		two_byte_effect(&decoder, instruction);
	/* Two bytes of stack: nobody does it. */
	if (decoder.is_short &&
	    (instruction->effect == GN_X86_PUSH || instruction->effect == GN_X86_POP))
		instruction->effect = GN_X86_SP_LOST;
	return true;
}
