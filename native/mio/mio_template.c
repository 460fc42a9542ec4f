#include "mio_template.h"

#include <string.h>

/*
 * Where characters differ, the last `*` takes one more. Only the last need be tried: those before
 * it stand in front of a text that was met already, and no `*` goes beyond a slash.
 */
static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL, *star_end = NULL;

	for (;;) {
		if (pattern[0] == '*' && pattern[1] == '*')
			return true;
		if (*pattern == '*') {
			star = ++pattern;
			star_end = text;
		} else if (*text && (*pattern == *text || (*pattern == '?' && *text != '/'))) {
			pattern++;
			text++;
		} else if (!*text && !*pattern) {
			return true;
		} else if (star && *star_end && *star_end != '/') {
			pattern = star;
			text = ++star_end;
		} else {
			return false;
		}
	}
}

bool gn_mio_template_matches(const char *name_template, const char *path)
{
	const char *leaf = strrchr(path, '/');

	if (leaf && !strchr(name_template, '/'))
		path = leaf + 1;
	return matches(name_template, path);
}
