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

/* So many bytes of a line hold two columns of whatever numbers, and some more of others. */
enum { GN_COLUMNS_BYTES = 2048 };

/*
 * Where so many bytes can be written, NULL without memory; gn_put_end() takes where they end.
 * What is written by gn_write_... returns where it ends, too: a line needs room but once.
 */
char *gn_put_begin(struct gn_report_text *text, size_t size);
void gn_put_end(struct gn_report_text *text, const char *end);

char *gn_write_bytes(char *to, const char *bytes, size_t size);
char *gn_write_blanks(char *to, size_t n);

/* `%*d`; of a width below 0 on the left, as `%-*d`. */
char *gn_write_integer(char *to, int64_t value, int width);

/* `%*.*f`, of a width of 32 and of one or two decimals at most. */
char *gn_write_fixed(char *to, double value, int width, int decimals);

/* A line, or a part of one. */
void gn_put_bytes(struct gn_report_text *text, const char *bytes, size_t size);
void gn_put_string(struct gn_report_text *text, const char *string);
void gn_put_label(struct gn_report_text *text, const struct gn_label *label);
void gn_put_blanks(struct gn_report_text *text, size_t n);
void gn_put_integer(struct gn_report_text *text, int64_t value);

#endif
