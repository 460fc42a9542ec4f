/* Numbers from and to text, whatever the program's locale. */
#ifndef GNOMON_HPM_NUMBER_TEXT_H
#define GNOMON_HPM_NUMBER_TEXT_H

#include <locale.h>
#include <stddef.h>

/* The C locale: numbers have a point. For uselocale(3), never to be freed. */
locale_t hpm_locale(void);

/* The text is a finite number as in C's sources and nothing else: 0, or -1. */
int hpm_real(const char *text, double *number);

/* The same with a sign in front of it, if it has one. */
int hpm_signed(const char *text, double *number);

/* The shortest text that reads as the same double; "n/a" for what is not finite. */
#define HPM_EXACT_SIZE 32
void hpm_exact(double value, char text[HPM_EXACT_SIZE]);

/*
 * As gnomon/units.py prints quantities: whole numbers exactly with their digits in threes, others
 * with four significant digits; durations and sizes with prefixes. "n/a" for what is not finite.
 */
#define HPM_QUANTITY_SIZE 480
void hpm_quantity(double value, const char *unit, char text[HPM_QUANTITY_SIZE]);

#endif
