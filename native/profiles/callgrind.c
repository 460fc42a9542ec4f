/* The lines of callgrind's files, one after the other. */
#include "callgrind.h"

#include "callgrind_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { OBJECT, FILE_NAME, FUNCTION };

enum { SHOWN = 40 };

int gn_callgrind_init(struct gn_callgrind *scan, const char *data, size_t size, uint32_t lines_most)
{
	memset(scan, 0, sizeof(*scan));
	scan->data = scan->at = data;
	scan->end = data + size;
	scan->lines_most = lines_most;
	scan->has_lines = true;
	scan->place = scan->name_id = scan->function = GN_NO_NUMBER;
	scan->called_object = scan->called_file = GN_NO_NUMBER;
	scan->called_name = scan->called_id = GN_NO_NUMBER;
	/* The first text, which has the number 0. */
	return gn_text_number(&scan->texts, (struct gn_text){"", 0}) < 0 ? -ENOMEM : 0;
}

void gn_callgrind_free(struct gn_callgrind *scan)
{
	for (uint32_t i = 0; i < scan->n_expanded; i++)
		free(scan->expanded[i]);
	free(scan->expanded);
	free(scan->id_facts);
	free(scan->function_facts);
	free(scan->self.cells);
	free(scan->inclusive.cells);
	free(scan->first_place.of);
	free(scan->position_heads.of);
	free(scan->arc_heads.of);
	free(scan->arc_calls);
	free(scan->samples);
	gn_text_table_free(&scan->texts);
	gn_key_table_free(&scan->ids);
	gn_key_table_free(&scan->functions);
	gn_key_table_free(&scan->lines);
	gn_key_table_free(&scan->places);
	gn_key_table_free(&scan->positions);
	gn_key_table_free(&scan->arcs);
	memset(scan, 0, sizeof(*scan));
}

/* --- names ------------------------------------------------------------------------------------ */

static int take_name(struct gn_callgrind *scan, struct gn_text key, struct gn_text value)
{
	/* Functions and files of jumps, and of callers, are names that others refer to. */
	const bool is_function = GN_IS_WORD(key, "fn") || GN_IS_WORD(key, "cfn") ||
				 GN_IS_WORD(key, "jfn") || GN_IS_WORD(key, "frfn");
	const bool is_object = GN_IS_WORD(key, "ob") || GN_IS_WORD(key, "cob");
	const enum kind kind = is_function ? FUNCTION : is_object ? OBJECT : FILE_NAME;
	uint32_t number = 0, id = 0;
	const int error = gn_callgrind_read_name(scan, kind, value, &number, &id);

	if (error < 0)
		return error;
	if (GN_IS_WORD(key, "fn")) {
		scan->name = number;
		scan->name_id = id;
		scan->file = scan->function_file;
		scan->function = GN_NO_NUMBER;
		scan->called_object = scan->called_file = scan->called_name = GN_NO_NUMBER;
	} else if (GN_IS_WORD(key, "fl")) {
		scan->file = scan->function_file = number;
	} else if (GN_IS_WORD(key, "fi") || GN_IS_WORD(key, "fe")) {
		scan->file = number;
	} else if (GN_IS_WORD(key, "ob")) {
		scan->object = number;
		scan->function = GN_NO_NUMBER;
	} else if (GN_IS_WORD(key, "cfn")) {
		scan->called_name = number;
		scan->called_id = id;
	} else if (GN_IS_WORD(key, "cob")) {
		scan->called_object = number;
	} else if (GN_IS_WORD(key, "cfi") || GN_IS_WORD(key, "cfl")) {
		scan->called_file = number;
	}
	return 0;
}

/* The function that a call is of. */
static int find_callee(struct gn_callgrind *scan)
{
	struct gn_callgrind_id *id =
		scan->called_id == GN_NO_NUMBER ? NULL : &scan->id_facts[scan->called_id];
	int error;

	if (scan->called_name == GN_NO_NUMBER)
		return gn_callgrind_refuse(scan, "calls= of no function: cfn= is missing");
	if (id && id->callee != GN_NO_NUMBER) {
		scan->callee = id->callee;
		return 0;
	}
	error = gn_callgrind_number_function(
		scan, scan->called_name,
		scan->called_file == GN_NO_NUMBER ? scan->file : scan->called_file,
		scan->called_object == GN_NO_NUMBER ? scan->object : scan->called_object,
		&scan->callee);
	if (id && !error)
		id->callee = scan->callee;
	return error;
}

static int take_calls(struct gn_callgrind *scan, struct gn_text value)
{
	const char *end = value.begin + value.length;
	const char *at =
		gn_callgrind_read_number(gn_behind_blanks(value.begin, end), end, &scan->calls);
	struct gn_callgrind_position target;

	if (!at || (at < end && *at != ' ' && *at != '\t' && *at != '\r'))
		return gn_callgrind_refuse(scan, "calls= without their number");
	/* Where they go to is not always told. */
	scan->target_line =
		gn_callgrind_read_position(scan, at, end, &target) ? (uint32_t)target.line : 0;
	scan->is_call = true;
	return find_callee(scan);
}

static int take_specification(struct gn_callgrind *scan, struct gn_text line, struct gn_text key)
{
	const struct gn_text value = gn_behind_key(line, key);

	if (GN_IS_WORD(key, "calls") || GN_IS_WORD(key, "rcalls"))
		return take_calls(scan, value);
	/* Jumps: the line behind them is a position without costs. */
	if (GN_IS_WORD(key, "jump") || GN_IS_WORD(key, "jcnd"))
		return 0;
	if (GN_IS_WORD(key, "rec") || GN_IS_WORD(key, "ln") || GN_IS_WORD(key, "bb") ||
	    GN_IS_WORD(key, "mp"))
		return 0;
	if (GN_IS_WORD(key, "fn") || GN_IS_WORD(key, "fl") || GN_IS_WORD(key, "fi") ||
	    GN_IS_WORD(key, "fe") || GN_IS_WORD(key, "ob") || GN_IS_WORD(key, "cfn") ||
	    GN_IS_WORD(key, "cfi") || GN_IS_WORD(key, "cfl") || GN_IS_WORD(key, "cob") ||
	    GN_IS_WORD(key, "jfn") || GN_IS_WORD(key, "jfi") || GN_IS_WORD(key, "frfn"))
		return take_name(scan, key, value);
	return gn_callgrind_refuse(scan, "%.*s=, which no line begins with",
				   (int)(key.length < SHOWN ? key.length : SHOWN), key.begin);
}

/* --- costs ------------------------------------------------------------------------------------ */

static int find_place(struct gn_callgrind *scan)
{
	const int64_t place =
		gn_key_number(&scan->places, (struct gn_key){{scan->pid, scan->thread, 0}});

	if (place < 0)
		return (int)place;
	scan->place = (uint32_t)place;
	return 0;
}

/* The function whose costs follow: the first of them makes it one that has some. */
static int find_function(struct gn_callgrind *scan)
{
	const int error = gn_callgrind_number_function(scan, scan->name, scan->function_file,
						       scan->object, &scan->function);

	if (error < 0)
		return error;
	scan->function_facts[scan->function].has_body = true;
	if (scan->name_id != GN_NO_NUMBER) {
		struct gn_callgrind_id *id = &scan->id_facts[scan->name_id];

		id->home = scan->function;
		if (id->callee == GN_NO_NUMBER)
			id->callee = scan->function;
	}
	return 0;
}

static int take_costs(struct gn_callgrind *scan, struct gn_text line)
{
	const char *end = line.begin + line.length, *at;
	int64_t costs[GN_CALLGRIND_EVENTS_MAX];
	struct gn_callgrind_position position;
	int n, error;

	if (!scan->n_parts)
		return gn_callgrind_refuse(scan, "costs before the line events:");
	at = gn_callgrind_read_position(scan, line.begin, end, &position);
	if (!at)
		return gn_callgrind_refuse(scan, "no position of a line of costs");
	n = gn_callgrind_read_costs(scan, at, end, costs);
	if (n < 0)
		return n;
	scan->position = position;
	if (scan->place == GN_NO_NUMBER) {
		error = find_place(scan);
		if (error < 0)
			return error;
	}
	if (scan->function == GN_NO_NUMBER) {
		error = find_function(scan);
		if (error < 0)
			return error;
	}
	error = gn_callgrind_number_line(scan, scan->function, scan->file, (uint32_t)position.line,
					 &scan->line);
	if (error < 0)
		return error;
	if (!scan->is_call)
		return gn_callgrind_add_self(scan, costs, n);
	scan->is_call = false;
	error = gn_callgrind_add_calls(scan, costs, n);
	scan->called_object = scan->called_file = scan->called_name = GN_NO_NUMBER;
	return error;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_of_word(char character)
{
	return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
	       (character >= '0' && character <= '9') || character == '_';
}

static int take_line(struct gn_callgrind *scan, struct gn_text line)
{
	const char *end = line.begin + line.length;
	struct gn_text key;

	line.begin = gn_behind_blanks(line.begin, end);
	line.length = (size_t)(end - line.begin);
	if (!line.length || *line.begin == '#')
		return 0;
	if ((*line.begin >= '0' && *line.begin <= '9') || *line.begin == '+' ||
	    *line.begin == '-' || *line.begin == '*')
		return take_costs(scan, line);
	if (scan->is_call)
		return gn_callgrind_refuse(scan, "calls= without a line of costs behind it");
	key = (struct gn_text){line.begin, 0};
	while (key.length < line.length && is_of_word(key.begin[key.length]))
		key.length++;
	if (key.length && key.length < line.length) {
		const char *colon;

		if (key.begin[key.length] == '=')
			return take_specification(scan, line, key);
		colon = memchr(line.begin, ':', line.length);
		if (colon) {
			key.length = (size_t)(colon - key.begin);
			return gn_callgrind_take_header(scan, line, key);
		}
	}
	return gn_callgrind_refuse(scan, "neither a cost, a name nor a header");
}

static int finish(struct gn_callgrind *scan)
{
	if (scan->is_at_end)
		return 0;
	if (!scan->n_parts)
		return gn_callgrind_refuse(scan, "no line events:");
	if (scan->is_call)
		return gn_callgrind_refuse(scan, "calls= without a line of costs behind it");
	if (!scan->n_costs)
		return gn_callgrind_refuse(scan, "no costs");
	scan->is_at_end = true;
	return gn_callgrind_find_homes(scan);
}

int gn_callgrind_scan(struct gn_callgrind *scan, size_t bytes)
{
	const char *until = scan->end;

	if (bytes < (size_t)(scan->end - scan->at))
		until = scan->at + bytes;
	scan->n_samples = 0;
	while (scan->at < until) {
		const size_t left = (size_t)(scan->end - scan->at);
		const char *line_end = memchr(scan->at, '\n', left);
		const struct gn_text line = {scan->at,
					     line_end ? (size_t)(line_end - scan->at) : left};
		int error;

		scan->line_number++;
		error = take_line(scan, line);
		if (error < 0)
			return error;
		scan->at = line_end ? line_end + 1 : scan->end;
	}
	return scan->at < scan->end ? 1 : finish(scan);
}
