/* What a profile says of functions and of calls between them, before anything follows from it. */
#ifndef GNOMON_CALL_PROFILE_H
#define GNOMON_CALL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of calls that nobody counted. */
#define GN_CALLS_UNKNOWN ((int64_t)-1)

/* Text in UTF-8, with anything between that is none; `characters` is how wide it is shown. */
struct gn_label {
	const char *bytes;
	size_t size, characters;
};

/* Who has all that is pointed to keeps it as long as there is a graph of it. */
struct gn_call_profile {
	uint32_t n_functions, n_arcs;
	const double *own;		/* of each function what it has itself */
	const struct gn_label *names;	/* of functions as the program has them */
	const int32_t *caller, *callee; /* of each arc; no two arcs have the same */
	const int64_t *calls;
	const double *arc_total, *arc_own; /* what calls came to, and of it the callee itself; NaN
					      where that is not known; NULL: of no arc */
	const int64_t *calls_of;	   /* of each function; NULL: the sum of its arcs */
};

/* Whether calls were counted. */
bool gn_has_counts(const struct gn_call_profile *profile);

/* Whether it is known what calls came to, not only how many there were. */
bool gn_has_totals(const struct gn_call_profile *profile);

#endif
