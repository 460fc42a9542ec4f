/* What one instruction of x86-64 does to the stack pointer and to registers that functions keep. */
#ifndef GN_X86_INSTRUCTION_H
#define GN_X86_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GN_X86_INSTRUCTION_MAX 15
#define GN_X86_SP 7u
#define GN_X86_BP 6u
#define GN_X86_NONE 16u

enum gn_x86_effect {
	GN_X86_OTHER,
	/* Of a register, or of GN_X86_NONE: anything else. */
	GN_X86_PUSH,
	GN_X86_POP,
	/* The stack pointer becomes itself plus a value; a register plus a value; or anything. */
	GN_X86_SP_ADD,
	GN_X86_SP_FROM,
	GN_X86_SP_LOST,
	GN_X86_LEAVE,
	/* A register becomes the stack pointer plus a value; or anything. */
	GN_X86_COPY_SP,
	GN_X86_WRITE,
	/* A register goes to memory at `base` plus a value. */
	GN_X86_STORE,
	/* To the end of the instruction plus a value; always, or perhaps. */
	GN_X86_JUMP,
	GN_X86_BRANCH,
	/* What follows is not executed next. */
	GN_X86_END,
};

struct gn_x86_instruction {
	enum gn_x86_effect effect;
	uint8_t bytes;
	/* By DWARF's numbers. */
	uint8_t reg;
	uint8_t base;
	int32_t value;
};

/* False where the bytes are no instruction, or end within it. */
bool gn_x86_read(const uint8_t *bytes, size_t n, struct gn_x86_instruction *instruction);

/* Number of an operand's bytes in memory or a register, from its ModRM byte on; 0: cut off. */
size_t gn_x86_operand_bytes(const uint8_t *bytes, size_t n);

/* DWARF's number of a register that instructions number 0 to 15. */
unsigned int gn_x86_register(unsigned int number);

#endif
