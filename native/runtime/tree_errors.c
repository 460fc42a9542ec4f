/* What went wrong with the tree over ranks, in words, for each thread. */
#include <stdarg.h>
#include <stdio.h>

#include "transport.h"

static __thread char failure[1024];

int gn_tree_failed(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure, sizeof(failure), format, arguments);
	va_end(arguments);
	return error;
}

const char *gn_tree_error(void)
{
	return failure;
}

int gn_tree_too_large(const struct gn_tree *tree, int failed)
{
	return gn_tree_failed(failed, "the data of task %d needs more memory than is available; %s",
			      tree->rank, tree->terms->remedy);
}
