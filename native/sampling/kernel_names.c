/* Source: proc(5), /proc/kallsyms. */
#include "kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* KSYM_NAME_LEN is 512, that of a module 56. */
#define LINE_BYTES 640

struct kernel_place {
	uint64_t address;
	uint64_t symbol; /* the last one that is not behind the address, so far */
	uint32_t place;
	char *name;
};

static int by_address(const void *left, const void *right)
{
	const uint64_t a = ((const struct kernel_place *)left)->address;
	const uint64_t b = ((const struct kernel_place *)right)->address;

	return (a > b) - (a < b);
}

/* A symbol may be that of the first place that is not before it. */
static void offer(struct kernel_place *places, uint32_t n, uint64_t symbol, const char *name)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (places[middle].address < symbol)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || symbol <= places[low].symbol)
		return;
	free(places[low].name);
	places[low].name = strdup(name);
	places[low].symbol = symbol;
}

static void read_symbols(struct kernel_place *places, uint32_t n)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[LINE_BYTES];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *end;
		const uint64_t symbol = strtoull(line, &end, 16);

		/* "ffffffff81000000 T name\t[module]" */
		if (!symbol || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
			continue;
		end += 3;
		end[strcspn(end, "\t\n")] = '\0';
		offer(places, n, symbol, end);
	}
	fclose(file);
}

void gn_kernel_names_write(const struct gn_path_tree *tree, struct gn_sample_file *out)
{
	struct kernel_place *places;
	uint32_t n = 0;
	const char *name = NULL;

	for (uint32_t i = 0; i < tree->n_places; i++)
		n += tree->place[i].module == GN_MODULE_KERNEL;
	places = n ? calloc(n, sizeof(*places)) : NULL;
	if (!places)
		return;
	n = 0;
	for (uint32_t i = 0; i < tree->n_places; i++)
		if (tree->place[i].module == GN_MODULE_KERNEL)
			places[n++] =
				(struct kernel_place){.address = tree->place[i].offset, .place = i};
	qsort(places, n, sizeof(*places), by_address);
	read_symbols(places, n);
	for (uint32_t i = 0; i < n; i++) {
		/* A place without a symbol of its own is in the function of the one before. */
		name = places[i].name ? places[i].name : name;
		if (name)
			gn_sample_append_text(out, GN_SAMPLE_KERNEL, places[i].place, name);
	}
	for (uint32_t i = 0; i < n; i++)
		free(places[i].name);
	free(places);
}
