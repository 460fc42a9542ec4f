/* The arcs that begin, or end, at each function: the last one of a profile first, as in gprof. */
#ifndef GNOMON_ARC_LISTS_H
#define GNOMON_ARC_LISTS_H

#include <stddef.h>
#include <stdint.h>

struct gn_arc_lists {
	uint32_t *first; /* of each function, and the end of all */
	uint32_t *arcs;
};

/* `function` is that of each arc. 0, or -ENOMEM. */
int gn_arc_lists_make(struct gn_arc_lists *lists, uint32_t n_functions, uint32_t n_arcs,
		      const int32_t *function);
void gn_arc_lists_free(struct gn_arc_lists *lists);

/* Zeroed room for n elements, for one if there are none; NULL without memory. */
void *gn_zeroed(size_t n, size_t element_bytes);

#endif
