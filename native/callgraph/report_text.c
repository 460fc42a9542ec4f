#include "report_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROOM_LEAST = 96 << 10, /* malloc() takes more than 128 KiB from the kernel each time */
	NUMBER_BYTES = 32,
	/* Of double: bits behind the first one, and what an exponent of 0 is written as. */
	FRACTION_BITS = 52,
	EXPONENT_BIAS = 1023,
};

char *gn_put_begin(struct gn_report_text *text, size_t size)
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

void gn_put_end(struct gn_report_text *text, const char *end)
{
	text->size = (size_t)(end - text->bytes);
}

char *gn_write_bytes(char *to, const char *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

char *gn_write_blanks(char *to, size_t n)
{
	memset(to, ' ', n);
	return to + n;
}

/* What lies in front of `end`, on the right of a column; on the left of one of a width below 0. */
static char *write_aligned(char *to, const char *begin, const char *end, int width)
{
	const int size = (int)(end - begin);

	for (int i = size; i < width; i++)
		*to++ = ' ';
	for (; begin < end; begin++)
		*to++ = *begin;
	for (int i = size; i < -width; i++)
		*to++ = ' ';
	return to;
}

/* The digits of a number in front of `end`, one at least; where they begin. */
static char *digits(char *end, uint64_t value)
{
	do
		*--end = (char)('0' + value % 10);
	while (value /= 10);
	return end;
}

char *gn_write_integer(char *to, int64_t value, int width)
{
	char number[NUMBER_BYTES], *end = number + sizeof(number);
	char *begin = digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value);

	if (value < 0)
		*--begin = '-';
	return write_aligned(to, begin, end, width);
}

/* A double has up to 309 digits before its point. */
static char *write_by_printf(char *to, double value, int width, int decimals)
{
	if (isnan(value))
		return to + sprintf(to, "%*s", width, "nan");
	return to + sprintf(to, "%*.*f", width, decimals, value);
}

/*
 * A double is a whole number times a power of two: the digits that are wanted are exactly those of
 * the shifted product, and what is shifted out says how to round: half to even, as printf() does.
 * It takes a tenth of printf()'s time, which would be most of a report's.
 */
char *gn_write_fixed(char *to, double value, int width, int decimals)
{
	const uint64_t factor = decimals == 2 ? 100 : 10;
	char number[NUMBER_BYTES], *end = number + sizeof(number), *begin = end;
	uint64_t bits, product, whole = 0;
	int shift;

	memcpy(&bits, &value, sizeof(bits));
	shift = EXPONENT_BIAS + FRACTION_BITS - (int)(bits >> FRACTION_BITS);
	/* Negative ones, large ones, and what is no number; the sign is the first bit. */
	if (bits >> 63 || shift < 1)
		return write_by_printf(to, value, width, decimals);
	product = (bits & (((uint64_t)1 << FRACTION_BITS) - 1)) | (uint64_t)1 << FRACTION_BITS;
	product *= factor;
	if (shift < 62) {
		const uint64_t half = (uint64_t)1 << (shift - 1);
		const uint64_t rest = product & (2 * half - 1);

		whole = product >> shift;
		whole += rest > half || (rest == half && whole & 1);
	}
	for (int i = 0; i < decimals; i++, whole /= 10)
		*--begin = (char)('0' + whole % 10);
	*--begin = '.';
	return write_aligned(to, digits(begin, whole), end, width);
}

void gn_put_bytes(struct gn_report_text *text, const char *bytes, size_t size)
{
	char *to = gn_put_begin(text, size);

	if (to)
		gn_put_end(text, gn_write_bytes(to, bytes, size));
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
	char *to = gn_put_begin(text, n);

	if (to)
		gn_put_end(text, gn_write_blanks(to, n));
}

void gn_put_integer(struct gn_report_text *text, int64_t value)
{
	char *to = gn_put_begin(text, NUMBER_BYTES);

	if (to)
		gn_put_end(text, gn_write_integer(to, value, 0));
}
