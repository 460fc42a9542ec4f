/* A child that is small before it executes its program: see small.c. */
#ifndef GNOMON_SMALL_H
#define GNOMON_SMALL_H

#include <stddef.h>

enum { SMALL_RANGES = 512 };

/* What a child does not need: nothing, if that is not known. */
struct small {
	void *begin[SMALL_RANGES];
	size_t bytes[SMALL_RANGES];
	int n;
};

/*
 * Find what a fork of this process needs no more; `small` lies in the stack frame of who forks, and
 * `words` are kept.
 */
void small_prepare(struct small *small, const void *words, size_t bytes);

/* In the child: give it back, and let the peak of its memory begin anew. */
void small_become(const struct small *small);

#endif
