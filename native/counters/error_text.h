/* Sentences about what went wrong: "thing: cause; remedy". */
#ifndef GNOMON_COUNTERS_ERROR_TEXT_H
#define GNOMON_COUNTERS_ERROR_TEXT_H

#include <stdarg.h>

struct gn_error_text {
	char text[512];
};

/* Writes the sentence and returns `error`, so that `return gn_error_set(why, GN_EINVAL, ...)` fits.
 */
__attribute__((format(printf, 3, 4))) int gn_error_set(struct gn_error_text *why, int error,
						       const char *format, ...);

/* The calling thread's own message, which gn_message() gives to the user. */
struct gn_error_text *gn_last_error(void);

/* The same on that message. */
__attribute__((format(printf, 2, 3))) int gn_fail(int error, const char *format, ...);

/*
 * Cause and remedy of a refusal by perf_event_open(2): "cause; remedy" in `why`.
 * error: the negative errno; flags: enum gn_event_flags. Returns the GN_E* that it is.
 */
int gn_refusal(int error, unsigned int flags, struct gn_error_text *why);

/* The same of an event that was to be counted on a CPU, -1 for any. */
int gn_refusal_on(int cpu, int error, unsigned int flags, struct gn_error_text *why);

#endif
