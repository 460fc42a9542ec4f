/* The text of a report while it grows: labels and numbers in columns, as printf() would have them.
 */
#ifndef GNOMON_REPORT_TEXT_H
#define GNOMON_REPORT_TEXT_H

#include "call_profile.h"

struct gn_report_text {
	char *bytes;
	size_t size, room;
	bool has_failed; /* there was no memory: nothing more is added */
};

void gn_put_bytes(struct gn_report_text *text, const char *bytes, size_t size);
void gn_put_string(struct gn_report_text *text, const char *string);
void gn_put_label(struct gn_report_text *text, const struct gn_label *label);
void gn_put_blanks(struct gn_report_text *text, size_t n);

/* `%*d`; of a width below 0 on the left, as `%-*d`. */
void gn_put_integer(struct gn_report_text *text, int64_t value, int width);

/* `%*.*f`, of a width of 32 and two decimals at most. */
void gn_put_fixed(struct gn_report_text *text, double value, int width, int decimals);

#endif
