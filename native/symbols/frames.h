/*
 * The answer: for each address its frames, innermost first, whose texts are each there once.
 */
#pragma once

#include "memory.h"

#include <stdbool.h>

enum { GN_FRAME_INLINED = 1, GN_FRAME_FROM_BOUNDS = 2 };

/* As it goes over the pipe. */
struct gn_frame {
	uint64_t start;		 /* of the function; 0: unknown */
	uint32_t function, file; /* numbers of texts; 0 is "" */
	uint32_t line, flags;
};

struct gn_texts {
	struct gn_vector bytes, ends; /* char; uint64_t: where each ends */
	uint32_t *slots;
	size_t n_slots;
};

/* The number of a text, which is kept if it is new. */
uint32_t gn_texts_number(struct gn_texts *texts, const char *text);
void gn_texts_init(struct gn_texts *texts);
void gn_texts_free(struct gn_texts *texts);
