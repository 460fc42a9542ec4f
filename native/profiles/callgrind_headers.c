/* The headers of callgrind's files, and of each part of one. */
#include "callgrind_parts.h"

#include <string.h>

enum { NUMBER_MOST = INT32_MAX, EVENT_NAME_MOST = 200 };

/* The next word of a text, which then begins behind it. */
static struct gn_text next_word(struct gn_text *text)
{
	const char *end = text->begin + text->length;
	const char *begin = gn_behind_blanks(text->begin, end), *at = begin;

	while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
		at++;
	*text = (struct gn_text){at, (size_t)(end - at)};
	return (struct gn_text){begin, (size_t)(at - begin)};
}

static int take_events(struct gn_callgrind *scan, struct gn_text text)
{
	const bool is_first = !scan->n_parts;
	uint32_t n = 0;

	for (struct gn_text word = next_word(&text); word.length; word = next_word(&text), n++) {
		const struct gn_text *known = &scan->events[n];

		if (n == GN_CALLGRIND_EVENTS_MAX)
			return gn_callgrind_refuse(scan, "more than %u events",
						   GN_CALLGRIND_EVENTS_MAX);
		if (word.length > EVENT_NAME_MOST)
			return gn_callgrind_refuse(scan,
						   "an event whose name has more than %d bytes",
						   EVENT_NAME_MOST);
		if (!is_first && (n >= scan->n_events || known->length != word.length ||
				  memcmp(known->begin, word.begin, word.length) != 0))
			return gn_callgrind_refuse(scan, "a part that has other events than the "
							 "parts before it");
		for (uint32_t i = 0; is_first && i < n; i++) {
			if (scan->events[i].length == word.length &&
			    memcmp(scan->events[i].begin, word.begin, word.length) == 0)
				return gn_callgrind_refuse(scan, "an event that is there twice");
		}
		scan->events[n] = word;
	}
	if (!n || (!is_first && n != scan->n_events))
		return gn_callgrind_refuse(scan, n ? "a part that has other events than the parts "
						     "before it"
						   : "a list of no events");
	scan->n_events = n;
	scan->n_parts++;
	memset(scan->part_sums, 0, sizeof(scan->part_sums));
	/* A part says everything anew. */
	scan->position = (struct gn_callgrind_position){0};
	scan->object = scan->file = scan->function_file = scan->name = 0;
	scan->name_id = scan->function = GN_NO_NUMBER;
	return 0;
}

static int take_positions(struct gn_callgrind *scan, struct gn_text text)
{
	scan->has_instructions = scan->has_blocks = scan->has_lines = false;
	for (struct gn_text word = next_word(&text); word.length; word = next_word(&text)) {
		if (GN_IS_WORD(word, "instr") || GN_IS_WORD(word, "addr"))
			scan->has_instructions = true;
		else if (GN_IS_WORD(word, "bb"))
			scan->has_blocks = true;
		else if (GN_IS_WORD(word, "line"))
			scan->has_lines = true;
		else
			return gn_callgrind_refuse(scan, "positions that are neither instr, bb nor "
							 "line");
	}
	return 0;
}

/* What a part says that its lines come to is there to check them by. */
static int check_totals(struct gn_callgrind *scan, struct gn_text text)
{
	int64_t costs[GN_CALLGRIND_EVENTS_MAX] = {0};
	const int n = gn_callgrind_read_costs(scan, text.begin, text.begin + text.length, costs);

	if (n < 0)
		return n;
	for (uint32_t i = 0; i < scan->n_events; i++) {
		if (costs[i] != scan->part_sums[i])
			return gn_callgrind_refuse(scan,
						   "lines with %lld of %.*s, which are %lld by "
						   "their totals",
						   (long long)scan->part_sums[i],
						   (int)scan->events[i].length,
						   scan->events[i].begin, (long long)costs[i]);
	}
	scan->n_totals++;
	return 0;
}

/* A number of a process or thread and one; 0 for none. */
static uint32_t number_of_place(struct gn_text text)
{
	const struct gn_text word = next_word(&text);
	uint64_t number;

	if (!gn_callgrind_read_number(word.begin, word.begin + word.length, &number) ||
	    number > NUMBER_MOST)
		return 0;
	return (uint32_t)number + 1;
}

int gn_callgrind_take_header(struct gn_callgrind *scan, struct gn_text line, struct gn_text key)
{
	const struct gn_text value = gn_behind_key(line, key);
	struct gn_text text = value;

	if (GN_IS_WORD(key, "events"))
		return take_events(scan, value);
	if (GN_IS_WORD(key, "positions"))
		return take_positions(scan, value);
	if (GN_IS_WORD(key, "totals"))
		return check_totals(scan, value);
	if (GN_IS_WORD(key, "pid") || GN_IS_WORD(key, "thread")) {
		*(key.length == 3 ? &scan->pid : &scan->thread) = number_of_place(value);
		scan->place = GN_NO_NUMBER;
	}
	if (GN_IS_WORD(key, "version")) {
		const struct gn_text word = next_word(&text);
		uint64_t version;

		if (gn_callgrind_read_number(word.begin, word.begin + word.length, &version) &&
		    version > 1)
			return gn_callgrind_refuse(scan, "version %llu of the format; 1 is known",
						   (unsigned long long)version);
	}
	if (scan->n_headers == GN_CALLGRIND_HEADERS_MAX)
		return gn_callgrind_refuse(scan, "more than %u lines of headers",
					   GN_CALLGRIND_HEADERS_MAX);
	scan->headers[scan->n_headers++] = line;
	return 0;
}
