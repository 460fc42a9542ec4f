/* What comes next, by what came last: requests one after the other, backward, or with gaps. */
#ifndef GNOMON_MIO_PREFETCH_PATTERN_H
#define GNOMON_MIO_PREFETCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum gn_pattern_kind {
	GN_PATTERN_NONE,
	GN_PATTERN_SEQUENTIAL,
	GN_PATTERN_BACKWARD,
	GN_PATTERN_STRIDED, /* the same distance each time, either way */
	GN_PATTERN_KINDS,
};

struct gn_pattern {
	int64_t offset; /* of the last request */
	int64_t bytes;
	int64_t distance; /* from the request before */
	unsigned int repeats;
	enum gn_pattern_kind kind;
};

/* Requests that must agree: fewer are met by chance in random reads of a small file. */
#define GN_PATTERN_REPEATS 3
/* Of a stride: a hundred of them are still an offset. */
#define GN_PATTERN_MOST_DISTANCE (INT64_C(1) << 40)

/* Adds a request, and returns what pattern it is the next of. */
enum gn_pattern_kind gn_pattern_add(struct gn_pattern *pattern, int64_t offset, size_t bytes);

#endif
