/* Numbers from and to text. The rules of hpm_quantity() are those of gnomon/units.py. */
#include "number_text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 4
#define EXACT_BELOW 9007199254740992.0 /* 2^53 */

static locale_t c_locale;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t hpm_locale(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_locale);
	return c_locale;
}

int hpm_real(const char *text, double *number)
{
	size_t plain = strspn(text, "0123456789.eE+-");
	char *end;

	if (!plain || text[plain] || !(isdigit((unsigned char)text[0]) || text[0] == '.'))
		return -1;
	*number = strtod_l(text, &end, hpm_locale());
	return *end || !isfinite(*number) ? -1 : 0;
}

int hpm_signed(const char *text, double *number)
{
	int is_negative = *text == '-';
	int error = hpm_real(text + (is_negative || *text == '+'), number);

	*number = is_negative && !error ? -*number : *number;
	return error;
}

void hpm_exact(double value, char text[HPM_EXACT_SIZE])
{
	locale_t before = uselocale(hpm_locale());

	if (!isfinite(value)) {
		snprintf(text, HPM_EXACT_SIZE, "n/a");
	} else if (value == 0) {
		snprintf(text, HPM_EXACT_SIZE, "0");
	} else if (fabs(value) < EXACT_BELOW && value == trunc(value)) {
		snprintf(text, HPM_EXACT_SIZE, "%.0f", value);
	} else {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, HPM_EXACT_SIZE, "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
	}
	uselocale(before);
}

/* The digits before the point in threes: "-1234567.5" to "-1 234 567.5". */
static void group(const char *plain, char *out)
{
	size_t sign = plain[0] == '-';
	size_t whole = strspn(plain + sign, "0123456789");

	memcpy(out, plain, sign);
	out += sign;
	plain += sign;
	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			*out++ = ' ';
		*out++ = plain[i];
	}
	strcpy(out, plain + whole);
}

static void number(double value, char *out)
{
	char text[340];
	int exponent;

	if (fabs(value) < EXACT_BELOW && value == trunc(value)) {
		snprintf(text, sizeof(text), "%.0f", value == 0 ? 0 : value);
		group(text, out);
		return;
	}
	snprintf(text, sizeof(text), "%.*e", DIGITS - 1, value);
	exponent = atoi(strchr(text, 'e') + 1);
	if (exponent < -4 || exponent >= 15) {
		strcpy(out, text);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", exponent < DIGITS - 1 ? DIGITS - 1 - exponent : 0,
		 value);
	if (strchr(text, '.')) {
		size_t end = strlen(text);

		while (text[end - 1] == '0')
			text[--end] = 0;
		if (text[end - 1] == '.')
			text[end - 1] = 0;
	}
	group(text, out);
}

static void duration(double ns, char *out)
{
	static const struct {
		double limit;
		double unit;
		const char *name;
	} prefixed[] = {{1e3, 1, "ns"}, {1e6, 1e3, "µs"}, {1e9, 1e6, "ms"}};
	double seconds = ns / 1e9, whole, tenths;
	char digits[440];

	for (size_t i = 0; i < sizeof(prefixed) / sizeof(*prefixed); i++) {
		if (ns < prefixed[i].limit - prefixed[i].unit / 20) {
			number(ns / prefixed[i].unit, out);
			sprintf(out + strlen(out), " %s", prefixed[i].name);
			return;
		}
	}
	if (seconds < 59.995) {
		number(seconds, out);
		strcat(out, " s");
	} else if (seconds < 3599.95) {
		tenths = rint(seconds * 10);
		number(fmod(tenths, 600) / 10, digits);
		sprintf(out, "%.0f min %s s", floor(tenths / 600), digits);
	} else {
		char hours[340];

		whole = rint(seconds);
		snprintf(hours, sizeof(hours), "%.0f", floor(whole / 3600));
		group(hours, digits);
		sprintf(out, "%s h %.0f min %.0f s", digits, floor(fmod(whole, 3600) / 60),
			fmod(whole, 60));
	}
}

static void binary(double value, const char *unit, char *out)
{
	static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"};
	const size_t last = sizeof(prefixes) / sizeof(*prefixes) - 1;
	size_t i = 0;

	for (; fabs(value) >= 1023.5 && i < last; i++)
		value /= 1024;
	number(value, out);
	sprintf(out + strlen(out), " %s%s", prefixes[i], unit);
}

void hpm_quantity(double value, const char *unit, char text[HPM_QUANTITY_SIZE])
{
	locale_t before = uselocale(hpm_locale());

	if (!isfinite(value)) {
		strcpy(text, "n/a");
	} else if (!strcmp(unit, "ns") || !strcmp(unit, "s")) {
		double ns = unit[0] == 's' ? value * 1e9 : value;

		if (!isfinite(ns)) {
			strcpy(text, "n/a");
		} else {
			text[0] = '-';
			duration(fabs(ns), text + (ns < 0));
		}
	} else if (!strcmp(unit, "bytes") || !strcmp(unit, "bytes/s")) {
		binary(value, unit[5] ? "B/s" : "B", text);
	} else {
		size_t length;

		number(value, text);
		length = strlen(text);
		if (unit[0])
			snprintf(text + length, HPM_QUANTITY_SIZE - length, " %s", unit);
	}
	uselocale(before);
}
