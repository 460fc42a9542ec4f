/* The rules at one address: where the caller's frame is and where its registers were saved. */
#ifndef GN_RULE_ROW_H
#define GN_RULE_ROW_H

#include <gnomon/unwind.h>
#include <stdint.h>

/* CFA: "canonical frame address", the stack pointer before the call. */
enum gn_rule_kind {
	GN_RULE_SAME,
	GN_RULE_UNDEFINED,
	/* Saved at the CFA plus the value. */
	GN_RULE_AT_OFFSET,
	/* The CFA plus the value itself. */
	GN_RULE_OFFSET,
	/* In the register whose number is the value. */
	GN_RULE_REGISTER,
	/* Saved where an expression points, or its result: `length` bytes of the rules' section
	 * from the value on. */
	GN_RULE_AT_EXPRESSION,
	GN_RULE_EXPRESSION,
};

struct gn_rule {
	uint8_t target;
	uint8_t kind;
	uint16_t length;
	int32_t value;
};

enum gn_row_flags {
	GN_ROW_SIGNAL = 1u << 0,
	/* Expressions are in .debug_frame. */
	GN_ROW_DEBUG_FRAME = 1u << 1,
	/* No compiler wrote it: it was made of the instructions. */
	GN_ROW_BY_CODE = 1u << 2,
};

/* No member has padding behind it: rows are compared as bytes, up to the last rule. */
struct gn_rule_row {
	uint8_t flags;
	uint8_t n_rules;
	/* The number under which the rules have the return address. */
	uint8_t return_column;
	/* GN_RULE_OFFSET: `base` plus the value; or GN_RULE_EXPRESSION. */
	uint8_t cfa_kind;
	uint16_t base;
	uint16_t cfa_length;
	int32_t cfa_value;
	struct gn_rule rules[GN_UNWIND_REGISTERS_MAX];
};

#endif
