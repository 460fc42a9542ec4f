#include "symbol_window.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define SYMBOLS_AT_A_TIME 512u
/* More than any program has. */
#define SYMBOLS_MAX ((uint64_t)8 << 20)

static bool add_place(struct gn_symbol_window *window, uint32_t *capacity, const Elf64_Sym *symbol)
{
	uint64_t bytes = symbol->st_size;

	if (!bytes || bytes > GN_FUNCTION_BYTES_MAX)
		bytes = GN_FUNCTION_BYTES_MAX;
	if (window->n == *capacity) {
		const uint32_t n = *capacity ? 2 * *capacity : 256;
		void *more = realloc(window->places, n * sizeof(*window->places));

		if (!more)
			return false;
		window->places = more;
		*capacity = n;
	}
	window->places[window->n++] =
		(struct gn_function_place){symbol->st_value, symbol->st_value + bytes};
	return true;
}

static int compare_starts(const void *left, const void *right)
{
	const struct gn_function_place *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Hand-written functions may have no size: each ends where the next one begins at the latest. */
static void cut_at_next(struct gn_symbol_window *window)
{
	for (uint32_t i = 0; i + 1 < window->n; i++)
		if (window->places[i + 1].start > window->places[i].start &&
		    window->places[i].end > window->places[i + 1].start)
			window->places[i].end = window->places[i + 1].start;
}

int gn_symbol_window_read(struct gn_symbol_window *window, const struct gn_elf_image *image,
			  uint64_t first)
{
	const uint64_t begin = first < GN_FUNCTION_BYTES_MAX ? 0 : first - GN_FUNCTION_BYTES_MAX,
		       bytes = first - begin + GN_SYMBOL_WINDOW_BYTES;
	uint64_t n = image->symbols_bytes / sizeof(Elf64_Sym);
	Elf64_Sym symbols[SYMBOLS_AT_A_TIME];
	uint32_t capacity = 0;

	*window = (struct gn_symbol_window){.first = first};
	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	for (uint64_t i = 0; i < n; i += SYMBOLS_AT_A_TIME) {
		uint64_t part = n - i < SYMBOLS_AT_A_TIME ? n - i : SYMBOLS_AT_A_TIME;

		if (gn_elf_image_read(image, image->symbols_at + i * sizeof(*symbols), symbols,
				      part * sizeof(*symbols)) != part * sizeof(*symbols))
			break;
		for (const Elf64_Sym *symbol = symbols; symbol < symbols + part; symbol++) {
			if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_shndx ||
			    symbol->st_value - begin >= bytes)
				continue;
			if (!add_place(window, &capacity, symbol)) {
				free(window->places);
				window->places = NULL;
				return -ENOMEM;
			}
		}
	}
	if (window->n)
		qsort(window->places, window->n, sizeof(*window->places), compare_starts);
	cut_at_next(window);
	return 0;
}

const struct gn_function_place *gn_symbol_window_find(const struct gn_symbol_window *window,
						      uint64_t address)
{
	uint32_t low = 0, high = window->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (window->places[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < window->places[low - 1].end ? &window->places[low - 1] : NULL;
}
