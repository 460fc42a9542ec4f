#include "prefetch_pattern.h"

static enum gn_pattern_kind kind_of(const struct gn_pattern *last, int64_t offset, int64_t bytes)
{
	int64_t distance;

	if (offset == last->offset + last->bytes)
		return GN_PATTERN_SEQUENTIAL;
	if (offset + bytes == last->offset)
		return GN_PATTERN_BACKWARD;
	distance = offset - last->offset;
	if (!distance || distance > GN_PATTERN_MOST_DISTANCE ||
	    distance < -GN_PATTERN_MOST_DISTANCE)
		return GN_PATTERN_NONE;
	return GN_PATTERN_STRIDED;
}

enum gn_pattern_kind gn_pattern_add(struct gn_pattern *pattern, int64_t offset, size_t bytes)
{
	const enum gn_pattern_kind kind = kind_of(pattern, offset, (int64_t)bytes);
	const int64_t distance = offset - pattern->offset;

	if (kind == pattern->kind && (kind != GN_PATTERN_STRIDED || distance == pattern->distance))
		pattern->repeats++;
	else
		pattern->repeats = 1;
	pattern->kind = kind;
	pattern->distance = distance;
	pattern->offset = offset;
	pattern->bytes = (int64_t)bytes;
	return pattern->repeats >= GN_PATTERN_REPEATS ? kind : GN_PATTERN_NONE;
}
