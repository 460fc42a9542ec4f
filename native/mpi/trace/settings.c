#include "settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "stderr_line.h"

#define LEVEL_MAX 512

static int is_yes(const char *name)
{
	static const char *const yes[] = {"yes", "y", "1", "true", "on"};
	const char *value = getenv(name);

	for (size_t i = 0; value && i < sizeof(yes) / sizeof(*yes); i++)
		if (!strcasecmp(value, yes[i]))
			return 1;
	return 0;
}

int gn_trace_wants_send_pattern(void)
{
	return is_yes("TRACE_SEND_PATTERN");
}

int gn_trace_traceback_level(void)
{
	const char *text = getenv("TRACEBACK_LEVEL");
	char *end = NULL;
	long level = text && *text ? strtol(text, &end, 10) : 0;

	return (end && *end) || level < 0 || level > LEVEL_MAX ? 0 : (int)level;
}

int gn_trace_path(const char *name, char *path, size_t size)
{
	const char *folder = getenv("TRACE_DIR");
	int n;

	if (folder && *folder)
		n = snprintf(path, size, "%s/%s", folder, name);
	else
		n = snprintf(path, size, "%s", name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void gn_trace_warn_of_settings(void)
{
	static const char *const numbers[] = {"TRACE_MAX_RANK", "MAX_TRACE_RANK"};
	const char *level = getenv("TRACEBACK_LEVEL"), *order = getenv("SWAP_BYTES");
	char names[160] = "";

	if (is_yes("TRACE_ALL_EVENTS"))
		strcat(names, " TRACE_ALL_EVENTS");
	if (is_yes("TRACE_ALL_TASKS"))
		strcat(names, " TRACE_ALL_TASKS");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (getenv(numbers[i]))
			strcat(strcat(names, " "), numbers[i]);
	if (order && *order)
		strcat(names, " SWAP_BYTES");
	if (*names)
		gn_trace_say("events are not traced yet, the profile is there; without effect:%s",
			     names);
	if (level && *level && strcmp(level, "0") && !gn_trace_traceback_level())
		gn_trace_say("TRACEBACK_LEVEL=%.40s is no number from 0 to %d; 0 is taken", level,
			     LEVEL_MAX);
}

void gn_trace_say(const char *format, ...)
{
	char text[1024];
	struct iovec lines[] = {{"gnomon: libmpitrace: ", 0}, {text, 0}, {"\n", 0}};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	gn_stderr_line(lines, 3);
}
