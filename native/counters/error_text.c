/* Errors: their names, and the sentence about the last one. */
#include <stdio.h>

#include "error_text.h"

#include "gnomon/gnomon.h"

/* Source of names and numbers: PAPI 7, so that people who know it recognise them. */
static const struct {
	const char *name;
	const char *text;
} errors[] = {
	[-GN_OK] = {"PAPI_OK", "no error"},
	[-GN_EINVAL] = {"PAPI_EINVAL", "wrong argument, or a call that makes no sense now"},
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

static _Thread_local struct gn_error_text last;

struct gn_error_text *gn_last_error(void)
{
	return &last;
}

const char *gn_message(void)
{
	return last.text;
}

static int say(struct gn_error_text *why, int error, const char *format, va_list arguments)
{
	vsnprintf(why->text, sizeof(why->text), format, arguments);
	return error;
}

int gn_error_set(struct gn_error_text *why, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(why, error, format, arguments);
	va_end(arguments);
	return error;
}

int gn_fail(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(&last, error, format, arguments);
	va_end(arguments);
	return error;
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
