/* Where functions are, by the symbols of a file: of a part of its addresses at a time. */
#ifndef GN_SYMBOL_WINDOW_H
#define GN_SYMBOL_WINDOW_H

#include "elf_image.h"

/* Longer functions are cut off. */
#define GN_FUNCTION_BYTES_MAX ((uint64_t)128 << 10)
#define GN_SYMBOL_WINDOW_BYTES ((uint64_t)1 << 20)

struct gn_function_place {
	uint64_t start;
	/* The first address behind it. */
	uint64_t end;
};

/* All functions that have an address of it. */
struct gn_symbol_window {
	uint64_t first;
	/* By their starts. */
	struct gn_function_place *places;
	uint32_t n;
};

/* That of an address. */
static inline uint64_t gn_symbol_window_first(uint64_t address)
{
	return address & ~(GN_SYMBOL_WINDOW_BYTES - 1);
}

/* 0 or -ENOMEM; a file without symbols has no functions. */
int gn_symbol_window_read(struct gn_symbol_window *window, const struct gn_elf_image *image,
			  uint64_t first);

/* NULL if there is none. */
const struct gn_function_place *gn_symbol_window_find(const struct gn_symbol_window *window,
						      uint64_t address);

#endif
