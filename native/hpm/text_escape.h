/* Text that came from a program or a name, made safe to print, and for XML and CSV. */
#ifndef GNOMON_HPM_TEXT_ESCAPE_H
#define GNOMON_HPM_TEXT_ESCAPE_H

#include <stddef.h>

#include "atomic_file.h"

/* The longest piece that stands for one character. */
#define HPM_PIECE_SIZE 12

/*
 * The next character of *text as it can be printed on one line, and *text behind it: what would
 * move the cursor, change colours or the direction, or end the line is shown as \x1b, what is no
 * UTF-8 byte by byte, a tab as a blank. Returns the piece's length, 0 at the end.
 */
size_t hpm_piece(const char **text, char piece[HPM_PIECE_SIZE]);

/* The text with all of it so, to be freed; NULL: no memory. */
char *hpm_printable(const char *text);

/* How many characters a UTF-8 text has. */
size_t hpm_width(const char *text);

/* On one line. */
void hpm_put_printable(struct gn_atomic_file *output, const char *text);

/* Within the quotes of an XML attribute; line ends and tabs are kept by reference. */
void hpm_put_xml(struct gn_atomic_file *output, const char *text);

/* A field of RFC 4180, in quotes where it needs them. */
void hpm_put_csv(struct gn_atomic_file *output, const char *text);

#endif
