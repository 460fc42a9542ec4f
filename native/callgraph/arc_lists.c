#include "arc_lists.h"

#include <errno.h>
#include <stdlib.h>

void *gn_zeroed(size_t n, size_t element_bytes)
{
	return calloc(n ? n : 1, element_bytes);
}

int gn_arc_lists_make(struct gn_arc_lists *lists, uint32_t n_functions, uint32_t n_arcs,
		      const int32_t *function)
{
	uint32_t n = 0;

	lists->first = gn_zeroed((size_t)n_functions + 1, sizeof(*lists->first));
	lists->arcs = gn_zeroed(n_arcs, sizeof(*lists->arcs));
	if (!lists->first || !lists->arcs)
		return -ENOMEM;
	for (uint32_t arc = 0; arc < n_arcs; arc++)
		lists->first[function[arc]]++;
	/* Each begins as the end of its list: filling it from behind makes that the begin. */
	for (uint32_t i = 0; i <= n_functions; i++)
		lists->first[i] = n += lists->first[i];
	for (uint32_t arc = 0; arc < n_arcs; arc++)
		lists->arcs[--lists->first[function[arc]]] = arc;
	return 0;
}

void gn_arc_lists_free(struct gn_arc_lists *lists)
{
	free(lists->first);
	free(lists->arcs);
	*lists = (struct gn_arc_lists){0};
}
