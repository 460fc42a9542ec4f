/* Where the caller's frame is, followed from instruction to instruction of a function. x86-64. */
#ifndef GN_CODE_FRAME_H
#define GN_CODE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "rule_row.h"
#include "x86_instruction.h"

/* rbx, rbp, r12 to r15 */
#define GN_KEPT_REGISTERS 6u

/* No member has padding behind it: frames are compared as bytes. */
struct gn_code_frame {
	/* From the stack pointer up to the CFA; 0: not known. */
	int32_t depth;
	/* From another register up to the CFA, if one was made to point into the frame. */
	int32_t base_depth;
	/* From where a register was saved up to the CFA; 0: nowhere. */
	int32_t saved[GN_KEPT_REGISTERS];
	/* GN_X86_NONE: there is no such register. */
	uint8_t base;
	/* A bit for each register that may have another value than the caller's. */
	uint8_t changed;
	/* That has the return address, which was popped; GN_X86_NONE: none has. */
	uint8_t return_register;
	uint8_t unused;
};

/* Before the first instruction. */
struct gn_code_frame gn_code_frame_first(void);

/* What an instruction makes of it. */
void gn_code_frame_step(struct gn_code_frame *frame, const struct gn_x86_instruction *instruction);

/* What holds on both of two ways to an instruction. */
void gn_code_frame_merge(struct gn_code_frame *frame, const struct gn_code_frame *other);

/* False if the caller's frame is not known. */
bool gn_code_frame_row(const struct gn_code_frame *frame, struct gn_rule_row *row);

#endif
