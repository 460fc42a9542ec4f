#include "mio_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of the text, on either side of the caret. */
#define CONTEXT 38

int gn_mio_refuse(struct gn_mio_error *error, size_t offset, const char *format, ...)
{
	va_list arguments;

	error->offset = offset;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	/* What is quoted comes from the specification. */
	for (char *c = error->message; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -EINVAL;
}

size_t gn_mio_error_text(const struct gn_mio_error *error, const char *name, const char *text,
			 char *to, size_t size)
{
	const size_t length = strlen(text);
	const size_t offset = error->offset < length ? error->offset : length;
	const size_t begin = offset > CONTEXT ? offset - CONTEXT : 0;
	const size_t end = length - offset > CONTEXT ? offset + CONTEXT : length;
	char line[2 * CONTEXT + 1];
	int written;

	for (size_t i = begin; i < end; i++) {
		const unsigned char c = (unsigned char)text[i];

		line[i - begin] = (char)(c == '\t' || c == '\n' ? ' ' : c);
		/* A byte of a character of several takes no column or an unknown one. */
		if (c != '\t' && c != '\n' && (c < ' ' || c >= 0x7f))
			line[i - begin] = '?';
	}
	line[end - begin] = 0;
	written = snprintf(to, size, "%s: %s\n  %s%s%s\n  %*s^\n", name, error->message,
			   begin ? "..." : "", line, end < length ? "..." : "",
			   (int)(offset - begin) + (begin ? 3 : 0), "");
	if (written < 0)
		return 0;
	return (size_t)written < size ? (size_t)written : size - 1;
}
