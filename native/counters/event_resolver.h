/*
 * Names to events. Private: event sets (set.c) see nothing of where an event comes from but this.
 *
 * Beside this, event_list.c and its neighbours have those functions of gnomon.h that need no set:
 * gn_event_code, gn_code_event, gn_event_describe, gn_event_count, gn_event_at, gn_preset_count,
 * gn_preset_at, gn_preset_code, gn_presets_load, gn_component_*. (gn_event_available is set.c's.)
 *
 * Who resolves must be thread-safe: several threads add events at once. It may allocate, lock and
 * read files, as no set that runs waits for it.
 */
#ifndef GNOMON_COUNTERS_EVENT_RESOLVER_H
#define GNOMON_COUNTERS_EVENT_RESOLVER_H

#include <stdint.h>

#include "error_text.h"
#include "gnomon/gnomon.h"
#include "gnomon/perf.h"

/* The most native events that one event may be made of, and the deepest a formula may stack. */
#define GN_NATIVES_MAX 64
#define GN_STACK_MAX 64

/* One step of a postfix program on a stack of doubles. */
enum gn_op_kind {
	GN_OP_NATIVE,	/* push the count of a native event */
	GN_OP_CONSTANT, /* push a number */
	GN_OP_ADD,	/* take two, push one */
	GN_OP_SUBTRACT,
	GN_OP_MULTIPLY,
	GN_OP_DIVIDE,  /* by 0: the formula has no value */
	GN_OP_SECONDS, /* push the time for which the natives were enabled */
};

struct gn_op {
	enum gn_op_kind kind;
	int native;
	double constant;
};

/*
 * A resolved event: what its count is made of. Everything lies in one allocation or hangs on it;
 * gn_event_free() gives it back. spec[].leader is of no meaning here.
 *
 * ops == 0: the count is the sum of factor[i] * count[i], exact in integers (of one native event
 * with factor 1: that count). ops > 0: what the program leaves on the stack, which was checked
 * when it was parsed: never empty, never deeper than GN_STACK_MAX, one number at the end.
 */
struct gn_event {
	char name[GN_NAME_MAX]; /* as typed; with the PMU where a hybrid CPU makes it several */
	char unit[16];
	const char *description; /* that of the source, or of the preset; not to be freed */
	const char *preset; /* its name as defined, and its unit, which may be longer; NULL: none */
	const char *preset_unit;
	uint32_t code;	    /* gn_event_code() and gn_code_event() round-trip; presets: bit 31 */
	unsigned int flags; /* enum gn_event_flags */
	int component;	    /* 0 .. 63 */
	int domain;	    /* GN_EVENT_MODIFIED: what the name asks for, enum gn_domain; else 0 */
	double scale;	    /* multiplies a count into `unit`; 1 for plain counts */
	int n;		    /* native events */
	int ops;
	struct gn_event_spec *spec; /* [n] */
	char **native;		    /* [n] names of the native events */
	int64_t *factor;	    /* [n] */
	struct gn_op *op;	    /* [ops] */
};

/*
 * The event or events of one name, into out[max]: several for a pattern of tracepoints, and on
 * hybrid CPUs one for each core PMU that has it.
 * Returns GN_OK and *n, or a GN_E* and why; *n is then 0. Braces and commas are the caller's.
 */
int gn_resolve(const char *name, struct gn_event **out, int max, int *n, struct gn_error_text *why);

/* The same of a code that gn_resolve() gave to an event. */
int gn_resolve_code(uint32_t code, struct gn_event **out, int max, int *n,
		    struct gn_error_text *why);

void gn_event_free(struct gn_event *event);

/*
 * Runs the program on the natives' counts (scaled, if they took turns) and the seconds for which
 * they were enabled, which only a few formulas ask for.
 * Returns 0, or -1 where the formula has no value: a division by 0, or a number beyond a double.
 */
int gn_event_evaluate_timed(const struct gn_event *event, const double *counts, double seconds,
			    double *result);

#endif
