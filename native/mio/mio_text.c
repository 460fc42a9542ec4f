#include "mio_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "mio_heap.h"

/* A report that is longer ends there. */
#define REPORT_BYTES_MAX ((size_t)1 << 22)

static bool make_room(struct gn_mio_output *output, size_t bytes)
{
	size_t size = output->size ? output->size : 1024;
	char *text;

	if (bytes > REPORT_BYTES_MAX - output->used)
		return false;
	while (size - output->used < bytes)
		size *= 2;
	if (size == output->size)
		return true;
	text = gn_mio_heap_resize(output->text, size);
	if (!text)
		return false;
	output->text = text;
	output->size = size;
	return true;
}

void gn_mio_print(struct gn_mio_output *output, const char *format, ...)
{
	va_list arguments;
	int length;

	if (!output)
		return;
	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0 || !make_room(output, (size_t)length + 1))
		return;
	va_start(arguments, format);
	vsnprintf(output->text + output->used, (size_t)length + 1, format, arguments);
	va_end(arguments);
	output->used += (size_t)length;
}
