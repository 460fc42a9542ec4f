/* The files that processes map, each opened once, and their rules by address. */
#ifndef GN_RULE_FILES_H
#define GN_RULE_FILES_H

#include "code_functions.h"
#include "elf_image.h"
#include "frame_entry.h"
#include "rule_cache.h"

struct gn_rule_file {
	char *path;
	char *outer_path;      /* where it is for us, if its process has another root; or NULL */
	uint64_t opened_inode; /* 0: never */
	uint64_t device;
	uint64_t inode;
	uint64_t generation;
	/* -EAGAIN until it is opened; then 0 or why it cannot be used. */
	int status;
	/* Of how many processes it was tried to be opened, and of which last. */
	unsigned int tries;
	int tried_pid;
	/* Few entries for much code: it keeps frame pointers. */
	bool is_sparse;
	struct gn_elf_image image;
	struct gn_entry_index index;
	struct gn_rule_cache cache;
	/* Of what has no entry. */
	struct gn_code_functions functions;
	/* The next file whose identity has the same hash, GN_UNWIND_NO_FILE at the end. */
	uint32_t next;
};

/* Copied stacks that are read from a process have room for this. */
#define GN_SECOND_COPY_BYTES ((size_t)64 << 10)

struct gn_unwind_files {
	/* Each where it stays: what is in it points to it. */
	struct gn_rule_file **files;
	uint32_t n;
	uint32_t capacity;
	uint32_t n_descriptors;
	uint32_t *by_identity;
	uint8_t *second_copy;
};

/* The number of a mapping's file, which is noted if it is new; GN_UNWIND_NO_FILE if it has none. */
uint32_t gn_rule_file_number(struct gn_unwind_files *files,
			     const struct gn_unwind_mapping *mapping);

/* Where a process has the file mapped: for opening it. */
struct gn_mapped_at {
	int pid;
	uint64_t start;
	uint64_t length;
};

/* The file, opened; NULL if it cannot be. */
struct gn_rule_file *gn_rule_file(struct gn_unwind_files *files, uint32_t number,
				  const struct gn_mapped_at *mapped);

/* The row at a linked address, or GN_ROW_NONE or GN_ROW_ROOT. Where `is_return` the address is one
 * less than what is returned to. */
uint32_t gn_rule_file_row(struct gn_rule_file *file, uint64_t address, bool is_return);

#endif
