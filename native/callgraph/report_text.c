#include "report_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROOM_LEAST = 1 << 16,
	NUMBER_BYTES = 32,
	/* Of double: bits behind the first one, and what an exponent of 0 is written as. */
	FRACTION_BITS = 52,
	EXPONENT_BIAS = 1023,
};

/* Where so many bytes can be written, NULL without memory. */
static char *room_for(struct gn_report_text *text, size_t size)
{
	size_t room = text->room;
	char *grown;

	if (text->has_failed)
		return NULL;
	if (size <= room - text->size)
		return text->bytes + text->size;
	if (size > SIZE_MAX / 4 || room > SIZE_MAX / 4) {
		text->has_failed = true;
		return NULL;
	}
	room = 2 * room + size + ROOM_LEAST;
	grown = realloc(text->bytes, room);
	if (!grown) {
		text->has_failed = true;
		return NULL;
	}
	text->bytes = grown;
	text->room = room;
	return grown + text->size;
}

void gn_put_bytes(struct gn_report_text *text, const char *bytes, size_t size)
{
	char *to = room_for(text, size);

	if (!to)
		return;
	memcpy(to, bytes, size);
	text->size += size;
}

void gn_put_string(struct gn_report_text *text, const char *string)
{
	gn_put_bytes(text, string, strlen(string));
}

void gn_put_label(struct gn_report_text *text, const struct gn_label *label)
{
	gn_put_bytes(text, label->bytes, label->size);
}

void gn_put_blanks(struct gn_report_text *text, size_t n)
{
	char *to = room_for(text, n);

	if (!to)
		return;
	memset(to, ' ', n);
	text->size += n;
}

/* The digits of a number in front of `end`, one at least; where they begin. */
static char *digits(char *end, uint64_t value)
{
	do
		*--end = (char)('0' + value % 10);
	while (value /= 10);
	return end;
}

void gn_put_integer(struct gn_report_text *text, int64_t value, int width)
{
	char number[NUMBER_BYTES], *end = number + sizeof(number);
	char *begin = digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value);
	size_t size;

	if (value < 0)
		*--begin = '-';
	size = (size_t)(end - begin);
	if (width > 0 && size < (size_t)width)
		gn_put_blanks(text, (size_t)width - size);
	gn_put_bytes(text, begin, size);
	if (width < 0 && size < (size_t)-width)
		gn_put_blanks(text, (size_t)-width - size);
}

static void put_by_printf(struct gn_report_text *text, double value, int width, int decimals)
{
	char number[NUMBER_BYTES + 512]; /* a double has up to 309 digits before its point */
	const int size =
		isnan(value) ? snprintf(number, sizeof(number), "%*s", width, "nan")
			     : snprintf(number, sizeof(number), "%*.*f", width, decimals, value);

	gn_put_bytes(text, number, (size_t)size);
}

/*
 * A double is a whole number times a power of two: the digits that are wanted are exactly those of
 * the shifted product, and what is shifted out says how to round: half to even, as printf() does.
 * It takes a tenth of printf()'s time, which would be most of a report's.
 */
void gn_put_fixed(struct gn_report_text *text, double value, int width, int decimals)
{
	const uint64_t factor = decimals == 2 ? 100 : 10;
	char number[NUMBER_BYTES], *end = number + sizeof(number), *begin;
	uint64_t bits, product, whole;
	int shift;

	memcpy(&bits, &value, sizeof(bits));
	shift = EXPONENT_BIAS + FRACTION_BITS - (int)(bits >> FRACTION_BITS);
	/* Negative ones, large ones, and what is no number; the sign is the first bit. */
	if (bits >> 63 || shift < 1) {
		put_by_printf(text, value, width, decimals);
		return;
	}
	product = (bits & (((uint64_t)1 << FRACTION_BITS) - 1)) | (uint64_t)1 << FRACTION_BITS;
	product *= factor;
	if (shift < 62) {
		const uint64_t half = (uint64_t)1 << (shift - 1);
		const uint64_t rest = product & (2 * half - 1);

		whole = product >> shift;
		whole += rest > half || (rest == half && whole & 1);
	} else {
		whole = 0;
	}
	begin = digits(end, whole % factor);
	while (end - begin < decimals)
		*--begin = '0';
	*--begin = '.';
	begin = digits(begin, whole / factor);
	if (end - begin < width)
		gn_put_blanks(text, (size_t)(width - (end - begin)));
	gn_put_bytes(text, begin, (size_t)(end - begin));
}
