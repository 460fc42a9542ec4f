/* Errors: their names, and the sentence about the last one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error_text.h"

#include "gnomon/gnomon.h"

/* Source of names and numbers: PAPI 7, so that people who know it recognise them. */
static const struct {
	const char *name;
	const char *text;
} errors[] = {
	[-GN_OK] = {"PAPI_OK", "no error"},
	[-GN_EINVAL] = {"PAPI_EINVAL", "wrong argument, or a call that is not possible now"},
	[-GN_ENOMEM] = {"PAPI_ENOMEM", "out of memory"},
	[-GN_ESYS] = {"PAPI_ESYS", "a system call failed"},
	[-GN_ECMP] = {"PAPI_ECMP", "the component cannot do this"},
	[-GN_ECLOST] = {"PAPI_ECLOST", "the counters were taken away"},
	[-GN_EBUG] = {"PAPI_EBUG", "a bug in the library"},
	[-GN_ENOEVNT] = {"PAPI_ENOEVNT", "no such event, or not to be had here"},
	[-GN_ECNFLCT] = {"PAPI_ECNFLCT", "cannot be counted together with what is in the set"},
	[-GN_ENOTRUN] = {"PAPI_ENOTRUN", "the event set is not running"},
	[-GN_EISRUN] = {"PAPI_EISRUN", "an event set is running"},
	[-GN_ENOEVST] = {"PAPI_ENOEVST", "no such event set"},
	[-GN_ENOTPRESET] = {"PAPI_ENOTPRESET", "not a preset"},
	[-GN_ENOCNTR] = {"PAPI_ENOCNTR", "no counters here"},
	[-GN_EMISC] = {"PAPI_EMISC", "another error"},
	[-GN_EPERM] = {"PAPI_EPERM", "no right to count this"},
	[-GN_ENOINIT] = {"PAPI_ENOINIT", "too early or too late for this call"},
	[-GN_ENOCMP] = {"PAPI_ENOCMP", "no such component"},
	[-GN_ENOSUPP] = {"PAPI_ENOSUPP", "not supported"},
	[-GN_ENOIMPL] = {"PAPI_ENOIMPL", "not implemented"},
	[-GN_EBUF] = {"PAPI_EBUF", "too small a buffer"},
	[-GN_EINVAL_DOM] = {"PAPI_EINVAL_DOM", "a domain that cannot be counted"},
	[-GN_EATTR] = {"PAPI_EATTR", "wrong attribute of an event"},
	[-GN_ECOUNT] = {"PAPI_ECOUNT", "too many events or open files"},
	[-GN_ECOMBO] = {"PAPI_ECOMBO", "wrong combination of attributes"},
};

#define ERRORS ((int)(sizeof(errors) / sizeof(errors[0])))

/*
 * Allocated at a thread's first use: libhpm's thread-local storage is static, which a process that
 * loads the library later has little of.
 */
static _Thread_local struct gn_error_text *last;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

static void forget(void *text)
{
	last = NULL;
	free(text);
}

static void make_key(void)
{
	has_key = !pthread_key_create(&key, forget);
}

struct gn_error_text *gn_last_error(void)
{
	static struct gn_error_text of_all; /* where there is no memory */

	if (!last) {
		pthread_once(&once, make_key);
		last = has_key ? calloc(1, sizeof(*last)) : NULL;
		if (last && pthread_setspecific(key, last)) {
			free(last);
			last = NULL;
		}
	}
	return last ? last : &of_all;
}

const char *gn_message(void)
{
	return last ? last->text : "";
}

/* Puts more at the end of the text, as far as there is room, and returns where it is. */
static struct gn_error_part append(struct gn_error_text *why, const char *format, va_list arguments)
{
	const size_t length = strlen(why->text);

	vsnprintf(why->text + length, sizeof(why->text) - length, format, arguments);
	return (struct gn_error_part){(uint16_t)length, (uint16_t)strlen(why->text + length)};
}

__attribute__((format(printf, 2, 3))) static struct gn_error_part add(struct gn_error_text *why,
								      const char *format, ...)
{
	struct gn_error_part part;
	va_list arguments;

	va_start(arguments, format);
	part = append(why, format, arguments);
	va_end(arguments);
	return part;
}

static void begin(struct gn_error_text *why, int code)
{
	memset(why, 0, sizeof(*why));
	why->code = code;
}

int gn_error_set(struct gn_error_text *why, int code, const char *format, ...)
{
	va_list arguments;

	begin(why, code);
	va_start(arguments, format);
	append(why, format, arguments);
	va_end(arguments);
	return code;
}

int gn_fail(int code, const char *format, ...)
{
	va_list arguments;

	begin(gn_last_error(), code);
	va_start(arguments, format);
	append(gn_last_error(), format, arguments);
	va_end(arguments);
	return code;
}

int gn_error_event(struct gn_error_text *why, int code, const char *name, const char *format, ...)
{
	va_list arguments;

	begin(why, code);
	add(why, "event '%s': ", name);
	va_start(arguments, format);
	why->cause = append(why, format, arguments);
	va_end(arguments);
	return code;
}

int gn_error_memory(struct gn_error_text *why, const char *name)
{
	return gn_error_set(why, GN_ENOMEM, "event '%s': out of memory; free some memory", name);
}

int gn_error_unavailable(struct gn_error_text *why, int code, int number, const char *name,
			 const char *format, ...)
{
	va_list arguments;

	begin(why, code);
	why->is_unavailable = 1;
	why->number = number;
	add(why, "event '%s': ", name);
	va_start(arguments, format);
	why->cause = append(why, format, arguments);
	va_end(arguments);
	return code;
}

int gn_error_remedy(struct gn_error_text *why, const char *format, ...)
{
	va_list arguments;

	add(why, "; ");
	va_start(arguments, format);
	why->remedy = append(why, format, arguments);
	va_end(arguments);
	return why->code;
}

int gn_error_suggest(struct gn_error_text *why, int n, char name[][GN_NAME_MAX])
{
	for (int i = 0; i < n && i < GN_SUGGESTIONS_MAX; i++) {
		add(why, "%s", i ? " or " : "; did you mean ");
		why->suggestion[why->n_suggestions++] = add(why, "%s", name[i]);
	}
	if (why->n_suggestions)
		add(why, "?");
	return why->code;
}

const char *gn_error_name(int error)
{
	return error <= 0 && error > -ERRORS ? errors[-error].name : "unknown";
}

const char *gn_error_text(int error)
{
	return error <= 0 && error > -ERRORS ? errors[-error].text : "not an error of this library";
}

int gn_version(void)
{
	return GN_VERSION;
}
