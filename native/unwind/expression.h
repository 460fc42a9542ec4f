/* DWARF expressions, as far as unwind rules have them. */
#ifndef GN_EXPRESSION_H
#define GN_EXPRESSION_H

#include <stdbool.h>

#include "stack_memory.h"

/* Evaluates n bytes; `first` is on its stack at the beginning unless it is NULL. -EBADMSG: damaged,
 * endless, or says what is not understood; else what gn_memory_read() says. */
int gn_expression(const uint8_t *bytes, uint64_t n, const uint64_t *first,
		  const struct gn_unwind_registers *registers, struct gn_stack_memory *memory,
		  uint64_t *result);

#endif
