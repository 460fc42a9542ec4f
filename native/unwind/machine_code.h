/* What can be told from a few bytes of code: calls, epilogues, the way back from signals. */
#ifndef GN_MACHINE_CODE_H
#define GN_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "rule_row.h"

/* Of registers, as DWARF numbers them. */
struct gn_machine {
	uint8_t frame_pointer;
	uint8_t stack_pointer;
	uint8_t program_counter;
	/* Those that functions leave as they were are among these. */
	uint8_t first_kept;
	uint8_t last_kept;
	/* Bits of an address. */
	uint64_t address_mask;
};

const struct gn_machine *gn_machine(enum gn_unwind_machine machine);

/* Longest call instruction. */
#define GN_CALL_BYTES_MAX 8
/* Do bytes before a return address end with a call? */
bool gn_code_is_call(enum gn_unwind_machine machine, const uint8_t *before, size_t n);

/* Where a call goes that ends at an address, and of which the last 5 bytes are at hand; 0 if that
 * depends on a register or memory. */
uint64_t gn_code_call_target(enum gn_unwind_machine machine, const uint8_t before[5],
			     uint64_t address);

/* What gn_code_row() wants to see. */
#define GN_CODE_BYTES 32
/* The rules at an address, of which the bytes are at hand: if only an epilogue is left to be
 * executed, or if it is a way back from a signal handler. */
bool gn_code_row(enum gn_unwind_machine machine, const uint8_t *bytes, size_t n,
		 struct gn_rule_row *row);

#endif
