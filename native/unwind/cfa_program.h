/* Runs an entry's program up to an address. */
#ifndef GN_CFA_PROGRAM_H
#define GN_CFA_PROGRAM_H

#include "frame_entry.h"
#include "rule_row.h"

/* -EBADMSG: damaged, or says what is not understood. */
int gn_cfa_row(const struct gn_frame_entry *entry, enum gn_unwind_machine machine, uint64_t address,
	       struct gn_rule_row *row);

#endif
