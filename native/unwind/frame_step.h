/* From a frame to its caller, by a row of rules. */
#ifndef GN_FRAME_STEP_H
#define GN_FRAME_STEP_H

#include "elf_image.h"
#include "rule_row.h"
#include "stack_memory.h"

/* Changes the registers to the caller's, the program counter too. `image` has the expressions of
 * the row. `is_executing`: the frame is not in a call, so what lies below its stack pointer is no
 * longer saved there. -ENODATA and -EFAULT as gn_memory_read(); -EBADMSG: a rule makes no sense. */
int gn_frame_step(const struct gn_rule_row *row, const struct gn_elf_image *image,
		  struct gn_stack_memory *memory, bool is_executing,
		  struct gn_unwind_registers *registers);

#endif
