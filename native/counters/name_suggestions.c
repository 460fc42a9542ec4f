/* Known names that look like a mistyped one. */
#include <stdio.h>
#include <string.h>

#include "event_grammar.h"

static char folded(char one)
{
	return one >= 'A' && one <= 'Z' ? (char)(one - 'A' + 'a') : one;
}

int gn_compare_folded(const char *first, const char *second)
{
	while (*first && folded(*first) == folded(*second)) {
		first++;
		second++;
	}
	return (unsigned char)folded(*first) - (unsigned char)folded(*second);
}

int gn_begins_folded(const char *text, const char *start)
{
	while (*start && folded(*text) == folded(*start)) {
		text++;
		start++;
	}
	return !*start;
}

/*
 * The least number of letters to insert, leave out, replace or exchange with their neighbour.
 * Source: the optimal string alignment distance, a restriction of Damerau's (1964).
 */
static unsigned int distance(const char *first, const char *second)
{
	unsigned int row[3][GN_NAME_MAX + 1];
	const size_t n = strlen(first), m = strlen(second);

	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned int *now = row[i % 3];
		const unsigned int *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			const char a = folded(first[i - 1]), b = folded(second[j - 1]);
			unsigned int least = before[j - 1] + (a != b);

			if (before[j] + 1 < least)
				least = before[j] + 1;
			if (now[j - 1] + 1 < least)
				least = now[j - 1] + 1;
			if (i > 1 && j > 1 && a == folded(second[j - 2]) &&
			    b == folded(first[i - 2]) && older[j - 2] + 1 < least)
				least = older[j - 2] + 1;
			now[j] = least;
		}
	}
	return row[n % 3][m];
}

void gn_nearest_begin(struct gn_nearest *nearest, const char *typed)
{
	nearest->n = 0;
	snprintf(nearest->typed, sizeof(nearest->typed), "%s", typed);
}

/* Two letters of five may be wrong, and of two one be missing or too many. */
static int is_far(unsigned int wrong, size_t shorter, size_t longer)
{
	return 5 * wrong > 2 * longer && !(wrong == 1 && shorter == 1 && longer == 2);
}

void gn_nearest_try(struct gn_nearest *nearest, const char *name)
{
	const size_t typed = strlen(nearest->typed), length = strnlen(name, GN_NAME_MAX);
	const size_t longer = typed > length ? typed : length;
	const size_t shorter = typed > length ? length : typed;
	unsigned int edits;
	int rank;

	if (length == GN_NAME_MAX || is_far((unsigned int)(longer - shorter), shorter, longer))
		return;
	for (rank = 0; rank < nearest->n; rank++)
		if (!gn_compare_folded(nearest->name[rank], name))
			return;
	edits = distance(nearest->typed, name);
	if (is_far(edits, shorter, longer))
		return;
	for (rank = nearest->n; rank > 0 && nearest->distance[rank - 1] > edits; rank--) {
		if (rank == GN_NEAREST)
			continue;
		memcpy(nearest->name[rank], nearest->name[rank - 1], GN_NAME_MAX);
		nearest->distance[rank] = nearest->distance[rank - 1];
	}
	if (rank == GN_NEAREST)
		return;
	snprintf(nearest->name[rank], GN_NAME_MAX, "%s", name);
	nearest->distance[rank] = edits;
	if (nearest->n < GN_NEAREST)
		nearest->n++;
}

const char *gn_nearest_text(const struct gn_nearest *nearest, char *text, size_t size)
{
	int length = 0;

	text[0] = '\0';
	for (int i = 0; i < nearest->n && length >= 0 && (size_t)length < size; i++)
		length += snprintf(text + length, size - (size_t)length, "%s%s",
				   i ? " or " : "; did you mean ", nearest->name[i]);
	if (nearest->n && (size_t)length + 1 < size)
		memcpy(text + length, "?", 2);
	return text;
}

int gn_nearest_suggest(struct gn_nearest *nearest, struct gn_error_text *why, const char *remedy)
{
	return nearest->n ? gn_error_suggest(why, nearest->n, nearest->name)
			  : gn_error_remedy(why, "%s", remedy);
}
