/* Where a specification makes no sense, and why. */
#ifndef GNOMON_MIO_ERROR_H
#define GNOMON_MIO_ERROR_H

#include <stddef.h>

struct gn_mio_error {
	size_t offset; /* into the text */
	char message[256];
};

/* Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int gn_mio_refuse(struct gn_mio_error *error, size_t offset,
							const char *format, ...);

/*
 * Three lines for a terminal: what is wrong with the text of `name`, the text around that place,
 * and a caret below it. Returns their length, which is less than `size`.
 */
size_t gn_mio_error_text(const struct gn_mio_error *error, const char *name, const char *text,
			 char *to, size_t size);

#endif
