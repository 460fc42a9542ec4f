/* Sentences about what went wrong: "thing: cause; remedy". */
#ifndef GNOMON_COUNTERS_MESSAGE_H
#define GNOMON_COUNTERS_MESSAGE_H

#include <stdarg.h>

struct gn_message {
	char text[512];
};

/* Writes the sentence and returns `error`, so that `return gn_say(why, GN_EINVAL, ...)` fits. */
__attribute__((format(printf, 3, 4))) int gn_say(struct gn_message *why, int error,
						 const char *format, ...);

/* The calling thread's own message, which gn_message() gives to the user. */
struct gn_message *gn_last_message(void);

/* The same on that message. */
__attribute__((format(printf, 2, 3))) int gn_fail(int error, const char *format, ...);

/*
 * Cause and remedy of a refusal by perf_event_open(2): "cause; remedy" in `why`.
 * error: the negative errno; flags: enum gn_event_flags. Returns the GN_E* that it is.
 */
int gn_refusal(int error, unsigned int flags, struct gn_message *why);

/* The same of an event that was to be counted on a CPU, -1 for any. */
int gn_refusal_on(int cpu, int error, unsigned int flags, struct gn_message *why);

#endif
