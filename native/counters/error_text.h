/* Sentences about what went wrong, and their parts: "thing: cause; remedy". */
#ifndef GNOMON_COUNTERS_ERROR_TEXT_H
#define GNOMON_COUNTERS_ERROR_TEXT_H

#include <stdarg.h>
#include <stdint.h>

#include "gnomon/gnomon.h"

/* The most names that a sentence suggests. */
#define GN_SUGGESTIONS_MAX 8

/* Where a part of the sentence is in the text. */
struct gn_error_part {
	uint16_t begin;
	uint16_t length;
};

/*
 * Whoever shows the sentence needs `text` only. The parts are there for those who make something
 * else of it, an exception of Python for one: they are empty in a sentence that gn_error_set()
 * made.
 */
struct gn_error_text {
	char text[2048];
	int code;	    /* enum gn_error */
	int number;	    /* the errno of a file that cannot be read, 0 where none was */
	int is_unavailable; /* there is such an event, but not here */
	struct gn_error_part cause;
	struct gn_error_part remedy;
	int n_suggestions;
	struct gn_error_part suggestion[GN_SUGGESTIONS_MAX];
};

/* Writes the sentence and returns `code`, so that `return gn_error_set(why, GN_EINVAL, ...)` fits.
 */
__attribute__((format(printf, 3, 4))) int gn_error_set(struct gn_error_text *why, int code,
						       const char *format, ...);

/*
 * The same of an event, "event 'NAME': cause"; a remedy or suggestions are added. GN_ENOEVNT and
 * GN_ENOCMP say that nothing here has the name.
 */
__attribute__((format(printf, 4, 5))) int gn_error_event(struct gn_error_text *why, int code,
							 const char *name, const char *format, ...);

/* The sentence of an event for which there is no memory; returns GN_ENOMEM. */
int gn_error_memory(struct gn_error_text *why, const char *name);

/* The same of an event that exists, and cannot be counted here; number: an errno, or 0. */
__attribute__((format(printf, 5, 6))) int gn_error_unavailable(struct gn_error_text *why, int code,
							       int number, const char *name,
							       const char *format, ...);

/* Adds "; remedy" and returns the sentence's code. */
__attribute__((format(printf, 2, 3))) int gn_error_remedy(struct gn_error_text *why,
							  const char *format, ...);

/* Adds "; did you mean A or B?", if n is not 0, and returns the sentence's code. */
int gn_error_suggest(struct gn_error_text *why, int n, char name[][GN_NAME_MAX]);

/* The calling thread's own sentence, which gn_message() gives to the user. */
struct gn_error_text *gn_last_error(void);

/* The same as gn_error_set() on that sentence. */
__attribute__((format(printf, 2, 3))) int gn_fail(int code, const char *format, ...);

/*
 * Cause and remedy of a refusal by perf_event_open(2): "cause; remedy" in `why`.
 * error: the negative errno; flags: enum gn_event_flags. Returns the GN_E* that it is.
 */
int gn_refusal(int error, unsigned int flags, struct gn_error_text *why);

/* The same of an event that was to be counted on a CPU, -1 for any. */
int gn_refusal_on(int cpu, int error, unsigned int flags, struct gn_error_text *why);

#endif
