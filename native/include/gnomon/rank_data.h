/* What ranks of a job send each other in a reduction tree (hpm_tree.h). */
#ifndef GNOMON_RANK_DATA_H
#define GNOMON_RANK_DATA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gn_tree;

/* Bytes from malloc(3), which move as they are: all ranks of a job have one byte order. */
struct gn_blob {
	void *data; /* NULL: none */
	size_t size;
};

/*
 * Puts `other` into `into`. 0, or an errno: then `into` is as it was, and the ranks in `other` are
 * left out.
 */
typedef int gn_merge(struct gn_blob *into, const struct gn_blob *other, void *context);

/* Ranks first to last, and why they are no part of the totals, or what else is to be said. */
struct gn_gap {
	int first, last;
	int is_in;	 /* it is a part of them: only to be mentioned */
	const char *why; /* a predicate: "was killed by SIGSEGV" */
};

#ifdef __cplusplus
}
#endif

#endif
