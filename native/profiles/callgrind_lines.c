/* Numbers and names of the lines of callgrind's files. */
#include "callgrind_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = INT32_MAX, NAME_MOST = 1 << 16 };

int gn_callgrind_refuse(struct gn_callgrind *scan, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(scan->problem, sizeof(scan->problem), format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static int digit_of(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	character |= 0x20;
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : 16;
}

const char *gn_callgrind_read_number(const char *at, const char *end, uint64_t *number)
{
	const char *begin = at;
	uint64_t value = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x') {
		begin = at += 2;
		for (; at < end && digit_of(*at) < 16; at++) {
			if (value >> 60)
				return NULL;
			value = value << 4 | (uint64_t)digit_of(*at);
		}
	} else {
		for (; at < end && *at >= '0' && *at <= '9'; at++) {
			if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
			    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
				return NULL;
		}
	}
	*number = value;
	return at > begin ? at : NULL;
}

/* One number of a position; some writers have the end of a range behind it, which is left out. */
static const char *subposition(const char *at, const char *end, uint64_t last, uint64_t *own)
{
	const char sign = at < end ? *at : '\n';
	uint64_t number, ignored;

	if (sign == '*') {
		*own = last;
		at++;
	} else {
		at = gn_callgrind_read_number(sign == '+' || sign == '-' ? at + 1 : at, end,
					      &number);
		if (!at)
			return NULL;
		*own = sign == '+' ? last + number : sign == '-' ? last - number : number;
	}
	if (at < end && (*at == '+' || *at == '-' || *at == ':'))
		at = gn_callgrind_read_number(at + 1, end, &ignored);
	if (!at || (at < end && *at != ' ' && *at != '\t' && *at != '\r'))
		return NULL;
	return gn_behind_blanks(at, end);
}

const char *gn_callgrind_read_position(const struct gn_callgrind *scan, const char *at,
				       const char *end, struct gn_callgrind_position *position)
{
	const struct gn_callgrind_position *last = &scan->position;
	uint64_t line = 0;

	*position = *last;
	at = gn_behind_blanks(at, end);
	if (scan->has_instructions)
		at = subposition(at, end, last->address, &position->address);
	if (at && scan->has_blocks)
		at = subposition(at, end, last->block, &position->block);
	if (at && scan->has_lines)
		at = subposition(at, end, (uint64_t)last->line, &line);
	position->line = (int64_t)line;
	return line <= LINE_MOST ? at : NULL;
}

int gn_callgrind_read_costs(struct gn_callgrind *scan, const char *at, const char *end,
			    int64_t *costs)
{
	int n = 0;

	for (at = gn_behind_blanks(at, end); at < end; n++) {
		const bool is_negative = *at == '-';
		uint64_t number = 0;

		if (n == (int)scan->n_events)
			return gn_callgrind_refuse(scan,
						   "a line of more costs than there are "
						   "events, which are %u",
						   scan->n_events);
		/* Old files of cachegrind have a dot for 0. */
		if (*at == '.')
			at++;
		else
			at = gn_callgrind_read_number(at + is_negative, end, &number);
		if (!at || number > INT64_MAX ||
		    (at < end && *at != ' ' && *at != '\t' && *at != '\r'))
			return gn_callgrind_refuse(scan, "a cost that is no number");
		costs[n] = is_negative ? -(int64_t)number : (int64_t)number;
		at = gn_behind_blanks(at, end);
	}
	return n;
}

/* Behind a number in parentheses; NULL if there is none. */
static const char *id_of(const char *at, const char *end, uint64_t *id)
{
	if (end - at < 3 || *at != '(' || at[1] < '0' || at[1] > '9')
		return NULL;
	at = gn_callgrind_read_number(at + 1, end, id);
	return at && at < end && *at == ')' ? at + 1 : NULL;
}

/* The text of an id; NULL if it has none. */
static const struct gn_text *text_of(const struct gn_callgrind *scan, uint32_t kind, uint64_t id)
{
	const uint32_t number = gn_key_find(
		&scan->ids, (struct gn_key){{kind, (uint32_t)id, (uint32_t)(id >> 32)}});

	return number == GN_NO_NUMBER ? NULL : &scan->texts.texts[scan->id_facts[number].text];
}

/*
 * A name that is put together of others, as callgrind has it of recursions and callers:
 * (5)'2'(7).
 */
static int expand(struct gn_callgrind *scan, uint32_t kind, struct gn_text *text)
{
	const char *at = text->begin, *end = at + text->length;
	char **all;
	char *name, *shrunk;
	size_t length = 0;

	name = malloc(NAME_MOST);
	if (!name)
		return -ENOMEM;
	while (at < end) {
		const char *part_end = memchr(at, '\'', (size_t)(end - at));
		struct gn_text part = {at, (size_t)((part_end ? part_end : end) - at)};
		uint64_t id;

		if (id_of(at, at + part.length, &id) == at + part.length) {
			const struct gn_text *named = text_of(scan, kind, id);

			if (!named) {
				free(name);
				return gn_callgrind_refuse(scan,
							   "the name (%llu), which is not known",
							   (unsigned long long)id);
			}
			part = *named;
		}
		if (part.length + 1 > NAME_MOST - length) {
			free(name);
			return gn_callgrind_refuse(scan, "a name of more than %d bytes", NAME_MOST);
		}
		memcpy(name + length, part.begin, part.length);
		length += part.length;
		if (part_end)
			name[length++] = '\'';
		at = part_end ? part_end + 1 : end;
	}
	/* Names of names of names would grow without end. */
	scan->expanded_bytes += length;
	all = gn_with_room(scan->expanded, scan->n_expanded, &scan->expanded_room, sizeof(*all));
	if (!all) {
		free(name);
		return -ENOMEM;
	}
	scan->expanded = all;
	if (scan->expanded_bytes > (size_t)(scan->end - scan->data) + NAME_MOST) {
		free(name);
		return gn_callgrind_refuse(scan, "names that are larger than the file");
	}
	shrunk = realloc(name, length ? length : 1);
	if (!shrunk) {
		free(name);
		return -ENOMEM;
	}
	all[scan->n_expanded] = shrunk;
	*text = (struct gn_text){all[scan->n_expanded++], length};
	return 0;
}

static int add_id(struct gn_callgrind *scan, struct gn_key key, uint32_t text, uint32_t *id)
{
	const uint32_t n = scan->ids.slots.n;
	const int64_t number = gn_key_number(&scan->ids, key);
	struct gn_callgrind_id *facts;

	if (number < 0)
		return (int)number;
	*id = (uint32_t)number;
	facts = gn_with_room(scan->id_facts, (uint32_t)number, &scan->id_room, sizeof(*facts));
	if (!facts)
		return -ENOMEM;
	scan->id_facts = facts;
	/* Each part of a file has its names anew: most often the same ones. */
	if (number == n || facts[number].text != text)
		facts[number] = (struct gn_callgrind_id){text, GN_NO_NUMBER, GN_NO_NUMBER};
	return 0;
}

int gn_callgrind_read_name(struct gn_callgrind *scan, uint32_t kind, struct gn_text text,
			   uint32_t *number, uint32_t *id)
{
	const char *begin = gn_behind_blanks(text.begin, text.begin + text.length);
	const char *end = text.begin + text.length, *behind;
	struct gn_key key;
	int64_t own;
	uint64_t told;
	int error;

	while (end > begin && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*id = GN_NO_NUMBER;
	behind = id_of(begin, end, &told);
	if (behind) {
		key = (struct gn_key){{kind, (uint32_t)told, (uint32_t)(told >> 32)}};
		begin = gn_behind_blanks(behind, end);
		if (begin == end) {
			*id = gn_key_find(&scan->ids, key);
			if (*id == GN_NO_NUMBER)
				return gn_callgrind_refuse(scan,
							   "the name (%llu), which is not known",
							   (unsigned long long)told);
			*number = scan->id_facts[*id].text;
			return 0;
		}
	}
	text = (struct gn_text){begin, (size_t)(end - begin)};
	if (text.length > NAME_MOST)
		return gn_callgrind_refuse(scan, "a name of more than %d bytes", NAME_MOST);
	if (behind && id_of(begin, end, &told)) {
		error = expand(scan, kind, &text);
		if (error < 0)
			return error;
	}
	/* What is not known. */
	if (text.length == 3 && memcmp(text.begin, "???", 3) == 0)
		text = (struct gn_text){"", 0};
	own = gn_text_number(&scan->texts, text);
	if (own < 0)
		return (int)own;
	*number = (uint32_t)own;
	return behind ? add_id(scan, key, *number, id) : 0;
}
