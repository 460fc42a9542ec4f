/*
 * The functions, files and lines of addresses in a module.
 */
#pragma once

#include "debug_file.h"
#include "frames.h"

struct gn_question {
	const char *path;
	const char *build_id;	   /* of the file that ran, hexadecimal digits; "": not known */
	const char *debug_path;	   /* a file of its debug information, "": where it is looked for */
	const char *folders;	   /* where, separated by ':' */
	const uint64_t *addresses; /* sorted, each once */
	uint32_t n;
};

enum gn_outcome {
	GN_RESOLVED,
	GN_UNREADABLE, /* the answer's error tells why */
	GN_NOT_ELF,
	GN_OTHER_BUILD, /* it is not the file that ran */
	GN_TOO_MANY,	/* frames: no program has so many */
};

struct gn_answer {
	enum gn_outcome outcome;
	int error;
	bool has_symbols, has_debug; /* symbol tables, debug information */
	struct gn_vector first;	     /* uint32_t: each address's first frame, and the end */
	struct gn_vector frames;
	struct gn_texts texts;
	struct gn_inputs inputs;
	struct gn_arena arena;
};

void gn_answer_init(struct gn_answer *answer);
void gn_answer_free(struct gn_answer *answer);

/* Opens a module, which has to be closed if this returns GN_RESOLVED. */
enum gn_outcome gn_open_module(struct gn_elf *module, struct gn_arena *arena,
			       const struct gn_question *question, int *error);

/* Opens the module and its files, and answers. */
void gn_resolve(const struct gn_question *question, struct gn_answer *answer);

/* The same of files that are open; `debug` and `alternate` may be NULL. */
void gn_resolve_files(struct gn_elf *module, struct gn_elf *debug, struct gn_elf *alternate,
		      const struct gn_question *question, struct gn_answer *answer);
