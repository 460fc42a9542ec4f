/* What the HPM_* variables say. Source: HPM Toolkit User's Guide 3.2.2, sections 2.5.3 and 3.9. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "file_signals.h"
#include "metric_constants.h"
#include "number_text.h"
#include "report.h"
#include "write_all.h"

/* Room for ".hpm" behind a name, and for what makes it unique. */
#define NAME_MAX_LENGTH (PATH_MAX - 1 - 320)

static const char *set(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] ? value : NULL;
}

void hpm_warn(const char *format, ...)
{
	char line[1024] = "HPM WARNING - ";
	const size_t start = strlen(line);
	struct gn_file_signals signals;
	size_t length;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
	va_end(arguments);
	length = strlen(line);
	/* What a variable holds must not move the cursor of who reads this. */
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[length++] = '\n';
	gn_file_signals_hold(&signals);
	gn_write_all(STDERR_FILENO, line, length);
	gn_file_signals_release(&signals);
}

int hpm_env_is_set(const char *variable)
{
	return set(variable) != NULL;
}

int hpm_env_is_yes(const char *variable)
{
	const char *value = set(variable);

	if (!value)
		return 0;
	if (value[0] == 'Y' || value[0] == 'y' || !strcmp(value, "1"))
		return 1;
	if (value[0] != 'N' && value[0] != 'n' && strcmp(value, "0") != 0)
		hpm_warn("%s=%.60s is neither yes nor no and counts as no; "
			 "set it to yes or no",
			 variable, value);
	return 0;
}

int hpm_env_flag(const char *variable, int otherwise)
{
	const char *value = set(variable);

	if (!value)
		return otherwise;
	if (!strcmp(value, "1") || !strcmp(value, "yes") || !strcmp(value, "YES"))
		return 1;
	if (!strcmp(value, "0") || !strcasecmp(value, "no"))
		return 0;
	hpm_warn("%s=%.60s is neither yes nor no and is ignored; set it to yes or no", variable,
		 value);
	return otherwise;
}

long hpm_env_number(const char *variable, long least, long most, long otherwise)
{
	const char *value = set(variable);
	char *end;
	long number;

	if (!value)
		return otherwise;
	errno = 0;
	number = strtol(value, &end, 10);
	if (value[strspn(value, "0123456789")] || errno || *end || number < least ||
	    number > most) {
		hpm_warn("%s=%.60s is ignored; set it to a whole number from %ld to %ld", variable,
			 value, least, most);
		return otherwise;
	}
	return number;
}

/* The name is one that formulas can use and that is the user's to give. */
static int is_free(const char *name)
{
	static const char *const taken[] = {"wall_seconds", "user_seconds", "system_seconds",
					    "cpus"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (!strcmp(name, taken[i]))
			return 0;
	return length && length < sizeof(((struct hpm_constant *)0)->name) &&
	       strncmp(name, "HPM_", 4) != 0 && !isdigit((unsigned char)name[0]) &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
		       length;
}

/* GNOMON_DEFINE: NAME=NUMBER[,NAME=NUMBER...]. */
static void read_defined(struct hpm_constants *constants)
{
	const char *value = set("GNOMON_DEFINE");
	char *copy = value ? strdup(value) : NULL, *rest = copy, *part;

	while ((part = strsep(&rest, ","))) {
		char name[64] = "", number[64] = "", more[2];
		double parsed;

		if (!part[strspn(part, " \t")])
			continue;
		if (sscanf(part, " %63[^= ] = %63s %1s", name, number, more) != 2 ||
		    !is_free(name) || hpm_signed(number, &parsed))
			hpm_warn("GNOMON_DEFINE: %.60s is ignored; give NAME=NUMBER, with a name "
				 "of letters, digits and _ such as peak_flops_per_cycle=16",
				 part);
		else
			hpm_constant_set(constants, name, parsed, HPM_ESTIMATED);
	}
	free(copy);
}

/* A number with blanks around it: 0, or -1. */
static int stated(const char *text, double *number)
{
	char word[64], more[2];

	return sscanf(text, " %63s %1s", word, more) == 1 ? hpm_signed(word, number) : -1;
}

static void read_constants(struct hpm_constants *constants)
{
	static const char *const latencies[] = {
		"HPM_MEM_LATENCY", "HPM_AVG_L3_LATENCY", "HPM_L3_LATENCY",
		"HPM_L35_LATENCY", "HPM_AVG_L2_LATENCY", "HPM_L2_LATENCY",
		"HPM_L25_LATENCY", "HPM_L275_LATENCY",	 "HPM_TLB_LATENCY",
	};
	const char *text = set("HPM_DIV_WEIGHT");
	double number;

	for (size_t i = 0; i < sizeof(latencies) / sizeof(*latencies); i++) {
		const char *value = set(latencies[i]);

		if (!value)
			continue;
		if (stated(value, &number) || number < 0)
			hpm_warn("%s=%.60s is ignored; set it to a number of cycles", latencies[i],
				 value);
		else
			hpm_constant_set(constants, latencies[i], number, HPM_ESTIMATED);
	}
	if (text && (stated(text, &number) || strspn(text, "0123456789 \t") != strlen(text) ||
		     !(number >= 1 && number < 1e15)))
		hpm_warn("HPM_DIV_WEIGHT=%.60s is ignored; set it to a whole number, at least 1",
			 text);
	else if (text)
		hpm_constant_set(constants, "HPM_DIV_WEIGHT", number, HPM_ESTIMATED);
}

int hpm_settings_read(struct hpm_settings *settings, const char *program)
{
	/* A set-user-ID program writes nothing that its user names. */
	const char *name = secure_getenv("HPM_OUTPUT_NAME");
	int any = set("HPM_ASC_OUTPUT") || set("HPM_VIZ_OUTPUT") || set("HPM_CSV_OUTPUT");

	memset(settings, 0, sizeof(*settings));
	if (!program || !program[0])
		program = "hpm";
	if (name && !name[0])
		name = NULL;
	if (name && strlen(name) > NAME_MAX_LENGTH) {
		hpm_warn("HPM_OUTPUT_NAME is too long for a file name and is ignored; "
			 "at most %d bytes can be",
			 NAME_MAX_LENGTH);
		name = NULL;
	}
	snprintf(settings->name, NAME_MAX_LENGTH + 1, "%s", name ? name : program);
	settings->asc = any ? hpm_env_is_yes("HPM_ASC_OUTPUT") : 1;
	settings->viz = any ? hpm_env_is_yes("HPM_VIZ_OUTPUT") : 1;
	settings->csv = any ? hpm_env_is_yes("HPM_CSV_OUTPUT") : 0;
	settings->to_stdout = hpm_env_flag("HPM_STDOUT", 0);
	settings->formulas = hpm_env_flag("HPM_PRINT_FORMULA", 0);
	settings->unique = hpm_env_is_yes("HPM_UNIQUE_FILE_NAME");
	read_constants(&settings->constants);
	read_defined(&settings->constants);
	if (set("GNOMON_GROUPS"))
		hpm_warn("GNOMON_GROUPS is ignored: libhpm has Gnomon's own groups and metrics "
			 "only; name events with GNOMON_EVENTS, or count with hpmcount");
	hpm_machine_read(&settings->constants, "");
	return 0;
}
