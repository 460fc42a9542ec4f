/*
 * Files of callgrind and of others that write its format, as sums and arcs.
 *
 * Self costs are summed up for each place (process and thread), function, source file and line;
 * calls, and what they came to, for each place, line of the caller and function that is called.
 * Costs of instructions are handed on as they come: there may be as many as the file has lines.
 *
 * The text of the file is not copied and has to stay. It may hold anything: nothing is read outside
 * of it, all loops are bounded, and memory grows with what was read. Functions return 0 or a
 * negative errno. Source: Valgrind manual, "Callgrind Format Specification".
 */
#ifndef GNOMON_CALLGRIND_H
#define GNOMON_CALLGRIND_H

#include "key_table.h"
#include "text_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GN_CALLGRIND_EVENTS_MAX = 256,
	GN_CALLGRIND_HEADERS_MAX = 10000,
	GN_CALLGRIND_PROBLEM_BYTES = 200,
};

/* A cost: of a line (its function, file and line), or of calls of one function from there. */
struct gn_callgrind_cost {
	int64_t value;
	uint32_t of; /* line, or arc */
	uint32_t place, event;
	uint32_t unused;
};

/* A cost of an instruction. */
struct gn_callgrind_sample {
	int64_t value;
	uint64_t address;
	uint32_t line, place, event;
	uint32_t unused;
};

/* Calls from a line of a function, which is the first line of it that is known. */
struct gn_callgrind_arc {
	uint64_t calls;
	uint32_t place, caller, callee;
	uint32_t unused;
};

/* What is known of a function, whose name, file and object are numbers of texts. */
struct gn_callgrind_function {
	uint32_t home;	     /* the function that it is, by number: mostly itself */
	uint32_t entry_line; /* where calls enter it, 0 if none tells */
	uint32_t line;	     /* the line that stands for it as one that is called, at the end */
	bool has_body;	     /* there are costs or calls of its own */
};

struct gn_cost_cell {
	int64_t value;
	uint32_t next, event;
};

/* Chains of costs by ascending events. */
struct gn_cost_chains {
	struct gn_cost_cell *cells;
	uint32_t n, room;
};

/* Heads of chains. */
struct gn_heads {
	uint32_t *of;
	uint32_t n, room;
};

/* What a number in parentheses stands for. */
struct gn_callgrind_id {
	uint32_t text;
	uint32_t callee; /* the function that calls of it have, */
	uint32_t home;	 /* and the one that has a body */
};

/* A position of a cost line, on which the next one is based. */
struct gn_callgrind_position {
	uint64_t address, block;
	int64_t line;
};

struct gn_callgrind {
	const char *data, *end, *at;
	size_t line_number;
	uint32_t lines_most;
	char problem[GN_CALLGRIND_PROBLEM_BYTES];
	bool is_at_end;

	struct gn_text headers[GN_CALLGRIND_HEADERS_MAX];
	uint32_t n_headers;
	bool has_instructions, has_blocks, has_lines;
	struct gn_text events[GN_CALLGRIND_EVENTS_MAX];
	bool is_negative[GN_CALLGRIND_EVENTS_MAX];
	uint32_t n_events, n_parts, n_totals;
	int64_t part_sums[GN_CALLGRIND_EVENTS_MAX];
	uint64_t n_costs;

	struct gn_text_table texts;
	struct gn_key_table ids;
	struct gn_callgrind_id *id_facts;
	uint32_t id_room;
	char **expanded; /* names that are put together of others */
	uint32_t n_expanded, expanded_room;
	size_t expanded_bytes;
	struct gn_key_table functions; /* name, file, object */
	struct gn_callgrind_function *function_facts;
	uint32_t function_room;
	struct gn_key_table lines;  /* function, file, line */
	struct gn_key_table places; /* process and thread, and one each: 0 is none */
	struct gn_cost_chains self, inclusive;
	struct gn_heads first_place;   /* chains of the first place, by line */
	struct gn_key_table positions; /* of the others: place, line */
	struct gn_heads position_heads;
	struct gn_key_table arcs; /* place, line, function */
	struct gn_heads arc_heads;
	uint64_t *arc_calls;
	uint32_t arc_room;
	struct gn_callgrind_sample *samples;
	uint32_t n_samples, sample_room;

	/* Where reading is. */
	uint32_t pid, thread, place;
	struct gn_callgrind_position position;
	uint32_t object, file, function_file, name, name_id, function, line;
	uint32_t called_object, called_file, called_name, called_id, callee;
	bool is_call;
	uint64_t calls;
	uint32_t target_line;
};

/*
 * Begin to read a text.
 *
 * lines_most: of different lines, with their functions and files.
 */
int gn_callgrind_init(struct gn_callgrind *scan, const char *data, size_t size,
		      uint32_t lines_most);

/*
 * Read about so many bytes more: 1 if there is more, 0 at the end, -EBADMSG if it makes no sense;
 * `problem` then says why, `at` and `line_number` where. What `samples` had is forgotten.
 */
int gn_callgrind_scan(struct gn_callgrind *scan, size_t bytes);

/* Number of chains of self costs, and of costs in the next of them from `*chain` on. */
uint32_t gn_callgrind_chains(const struct gn_callgrind *scan);
uint32_t gn_callgrind_self(const struct gn_callgrind *scan, uint32_t *chain,
			   struct gn_callgrind_cost *costs, uint32_t most);

/* The same of arcs, which are as many as `arc_heads`. */
uint32_t gn_callgrind_inclusive(const struct gn_callgrind *scan, uint32_t *arc,
				struct gn_callgrind_cost *costs, uint32_t most);
struct gn_callgrind_arc gn_callgrind_arc_of(const struct gn_callgrind *scan, uint32_t arc);

void gn_callgrind_free(struct gn_callgrind *scan);

#endif
