/* The mappings of a process, and what was learnt of its code that no file has rules for. */
#ifndef GN_CODE_SPACE_H
#define GN_CODE_SPACE_H

#include "machine_code.h"
#include "rule_files.h"

struct gn_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	uint32_t file;
	bool is_code;
};

struct gn_unwind_space {
	struct gn_unwind_files *files;
	int pid;
	/* Sorted, without overlaps. */
	struct gn_mapping *mappings;
	uint32_t n;
	uint32_t capacity;
	uint64_t changes;
	/* Where the last address was. */
	uint32_t last;
	struct gn_rule_cache code_rows;
	/* By address: the call that it stands behind. */
	struct gn_rule_cache calls;
};

/* An address in it: its mapping and file, if there are any. */
struct gn_place {
	const struct gn_mapping *mapping;
	struct gn_rule_file *file;
	/* In the file, as linked; the address itself where there is no file. */
	uint64_t offset;
};

struct gn_place gn_space_place(struct gn_unwind_space *space, uint64_t address);

/* Can the address be executed? */
bool gn_space_is_code(struct gn_unwind_space *space, uint64_t address);

/* The row of code without rules (gn_code_row(), gn_code_functions_row()), NULL if its instructions
 * do not tell. `is_return`: a call returns to the address. */
const struct gn_rule_row *gn_space_code_row(struct gn_unwind_space *space,
					    enum gn_unwind_machine machine, uint64_t address,
					    bool is_return);

/* Does an address stand behind a call? True, too, where it is code that cannot be read any more. */
bool gn_space_is_behind_call(struct gn_unwind_space *space, enum gn_unwind_machine machine,
			     uint64_t address);

/* Does a function begin at the address, by the rules? */
bool gn_space_is_function(struct gn_unwind_space *space, uint64_t address);

/* Where the call before an address goes, if that stands in its bytes; else 0. */
uint64_t gn_space_call_target(struct gn_unwind_space *space, enum gn_unwind_machine machine,
			      uint64_t address);

#endif
