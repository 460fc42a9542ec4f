#include "mio_number.h"

#include <errno.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Powers of 1024, -1: no unit. */
static int unit_power(char c)
{
	static const char units[] = "kmgt";

	for (int power = 1; units[power - 1]; power++)
		if ((c | 0x20) == units[power - 1])
			return power;
	return -1;
}

int gn_mio_number(const char *text, size_t length, int64_t *number)
{
	const char *end = text + length;
	const int is_negative = length && *text == '-';
	int base = 10, power = 0, n_digits = 0, is_beyond = 0;
	int64_t magnitude = 0;

	text += is_negative;
	if (end - text > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
	} else if (end - text > 1 && text[0] == '0') {
		base = 8;
	}
	for (; text < end && digit_value(*text) < base; text++, n_digits++) {
		is_beyond |= __builtin_mul_overflow(magnitude, base, &magnitude);
		is_beyond |= __builtin_add_overflow(magnitude, digit_value(*text), &magnitude);
	}
	if (text < end && n_digits) {
		power = unit_power(*text++);
		if (power < 0)
			return -EINVAL;
	}
	if (text < end || !n_digits)
		return -EINVAL;
	while (power--)
		is_beyond |= __builtin_mul_overflow(magnitude, (int64_t)1024, &magnitude);
	if (is_beyond)
		return -ERANGE;
	*number = is_negative ? -magnitude : magnitude;
	return 0;
}
