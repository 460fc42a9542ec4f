/* What the files of the reader of callgrind's files share. */
#ifndef GNOMON_CALLGRIND_PARTS_H
#define GNOMON_CALLGRIND_PARTS_H

#include "callgrind.h"

#define GN_IS_WORD(word, text)                                                                     \
	((word).length == sizeof(text) - 1 && memcmp((word).begin, text, sizeof(text) - 1) == 0)

/* What stands behind the = or : of a line. */
static inline struct gn_text gn_behind_key(struct gn_text line, struct gn_text key)
{
	const char *begin = key.begin + key.length + 1;

	return (struct gn_text){begin, (size_t)(line.begin + line.length - begin)};
}

/* --- callgrind_lines.c: numbers and names of a line ------------------------------------------- */

/* Take a note of what is wrong where reading is, as printf; always -EBADMSG. */
int gn_callgrind_refuse(struct gn_callgrind *scan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline const char *gn_behind_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

/* Behind a number, decimal or hexadecimal; NULL if there is none, or one beyond 64 bits. */
const char *gn_callgrind_read_number(const char *at, const char *end, uint64_t *number);

/* Behind the position of a line, based on the last one; NULL where there is none. */
const char *gn_callgrind_read_position(const struct gn_callgrind *scan, const char *at,
				       const char *end, struct gn_callgrind_position *position);

/* Costs behind a position; how many events have one, or -EBADMSG. */
int gn_callgrind_read_costs(struct gn_callgrind *scan, const char *at, const char *end,
			    int64_t *costs);

/* The number of the text that stands behind the = of a line, and that of its id, if it has one. */
int gn_callgrind_read_name(struct gn_callgrind *scan, uint32_t kind, struct gn_text text,
			   uint32_t *number, uint32_t *id);

/* --- callgrind_headers.c ---------------------------------------------------------------------- */

/* A line that has its key before a colon. */
int gn_callgrind_take_header(struct gn_callgrind *scan, struct gn_text line, struct gn_text key);

/* --- callgrind_sums.c ------------------------------------------------------------------------- */

/* The number of a function, and of a line of it. */
int gn_callgrind_number_function(struct gn_callgrind *scan, uint32_t name, uint32_t file,
				 uint32_t object, uint32_t *function);
int gn_callgrind_number_line(struct gn_callgrind *scan, uint32_t function, uint32_t file,
			     uint32_t line, uint32_t *number);

/* Add to the costs of a line; to those of its instruction, too. */
int gn_callgrind_add_self(struct gn_callgrind *scan, const int64_t *costs, int n_costs);

/* Add calls of a function from a line, and what they came to. */
int gn_callgrind_add_calls(struct gn_callgrind *scan, const int64_t *costs, int n_costs);

/* At the end: functions that are called by a name for another one are that other one. */
int gn_callgrind_find_homes(struct gn_callgrind *scan);

#endif
