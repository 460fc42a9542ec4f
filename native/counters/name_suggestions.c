/* Known names that look like a mistyped one. */
#include <stdio.h>
#include <string.h>

#include "event_grammar.h"

static char folded(char one)
{
	return one >= 'A' && one <= 'Z' ? (char)(one - 'A' + 'a') : one;
}

int gn_compare_folded(const char *one, const char *other)
{
	while (*one && folded(*one) == folded(*other)) {
		one++;
		other++;
	}
	return (unsigned char)folded(*one) - (unsigned char)folded(*other);
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
static unsigned int distance(const char *one, const char *other)
{
	unsigned int row[3][GN_NAME_MAX + 1];
	const size_t n = strlen(one), m = strlen(other);

	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned int *now = row[i % 3];
		const unsigned int *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			const char a = folded(one[i - 1]), b = folded(other[j - 1]);
			unsigned int least = before[j - 1] + (a != b);

			if (before[j] + 1 < least)
				least = before[j] + 1;
			if (now[j - 1] + 1 < least)
				least = now[j - 1] + 1;
			if (i > 1 && j > 1 && a == folded(other[j - 2]) &&
			    b == folded(one[i - 2]) && older[j - 2] + 1 < least)
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

void gn_nearest_try(struct gn_nearest *nearest, const char *known)
{
	const size_t typed = strlen(nearest->typed), length = strnlen(known, GN_NAME_MAX);
	const size_t longer = typed > length ? typed : length;
	const size_t shorter = typed > length ? length : typed;
	unsigned int found;
	int at;

	if (length == GN_NAME_MAX || is_far((unsigned int)(longer - shorter), shorter, longer))
		return;
	for (at = 0; at < nearest->n; at++)
		if (!gn_compare_folded(nearest->name[at], known))
			return;
	found = distance(nearest->typed, known);
	if (is_far(found, shorter, longer))
		return;
	for (at = nearest->n; at > 0 && nearest->distance[at - 1] > found; at--) {
		if (at == GN_NEAREST)
			continue;
		memcpy(nearest->name[at], nearest->name[at - 1], GN_NAME_MAX);
		nearest->distance[at] = nearest->distance[at - 1];
	}
	if (at == GN_NEAREST)
		return;
	snprintf(nearest->name[at], GN_NAME_MAX, "%s", known);
	nearest->distance[at] = found;
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
