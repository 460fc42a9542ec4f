/*
 * Rights of this process, and how files of /proc and /sys are looked into.
 *
 * Source: proc(5), capabilities(7), Documentation/admin-guide/sysctl/kernel.rst.
 */
#include "host_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "read_file.h"

#define DIGITS "0123456789"
#define CAPABILITIES ((uint64_t)1 << 21 | (uint64_t)1 << 38) /* CAP_SYS_ADMIN, CAP_PERFMON */

long long gn_whole_number(const char *text)
{
	const size_t length = strlen(text);

	return length && length <= 18 && strspn(text, DIGITS) == length ? strtoll(text, NULL, 10)
									: -1;
}

void gn_line_in(char *line, size_t size, const char *root, const char *path)
{
	gn_file_start(line, size, "%s/%s", root, path);
	line[strcspn(line, "\n")] = '\0';
	for (size_t end = strlen(line); end && strchr("\1 \t\r", line[end - 1]); end--)
		line[end - 1] = '\0';
}

long long gn_number_in(const char *root, const char *path)
{
	char line[64];

	gn_line_in(line, sizeof(line), root, path);
	return gn_whole_number(line);
}

void gn_keyed_value(const char *text, const char *key, char *value, size_t size)
{
	*value = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *colon, *end;

		line += *line == '\n';
		end = line + strcspn(line, "\n");
		colon = memchr(line, ':', (size_t)(end - line));
		line += strspn(line, " \t");
		if (!colon || colon < line || strncmp(line, key, strlen(key)))
			continue;
		line += strlen(key);
		if (line + strspn(line, " \t") < colon)
			continue;
		snprintf(value, size, "%.*s", (int)(end - colon - 1), colon + 1);
		memmove(value, gn_strip(value), strlen(gn_strip(value)) + 1);
		return;
	}
}

static long long limit_or_none(rlim_t limit)
{
	return limit == RLIM_INFINITY ? -1 : (long long)limit;
}

static void open_files(const char *root, struct gn_rights *rights)
{
	static const char title[] = "Max open files";
	char text[GN_FILE_MAX], soft[32] = "", hard[32] = "";
	struct rlimit limit;
	const char *line;

	rights->open_files = rights->open_files_hard = -1;
	if (gn_file_start(text, sizeof(text), "%s/proc/self/limits", root) < 0 && !*root) {
		/* Where no descriptor is left, /proc cannot be read. */
		if (!getrlimit(RLIMIT_NOFILE, &limit)) {
			rights->open_files = limit_or_none(limit.rlim_cur);
			rights->open_files_hard = limit_or_none(limit.rlim_max);
		}
		return;
	}
	line = strncmp(text, title, strlen(title)) ? strstr(text, "\nMax open files") : text - 1;
	if (!line || sscanf(line + 1 + strlen(title), "%31s %31s", soft, hard) < 1)
		return;
	rights->open_files = gn_whole_number(soft);
	rights->open_files_hard = gn_whole_number(hard);
}

void gn_rights(const char *root, struct gn_rights *rights)
{
	char text[2 * GN_FILE_MAX], value[64], line[64], *end;
	unsigned long long map[3] = {0};

	memset(rights, 0, sizeof(*rights));
	gn_line_in(line, sizeof(line), root, "proc/sys/kernel/perf_event_paranoid");
	rights->paranoid = gn_whole_number(line + (*line == '-'));
	rights->has_paranoid = rights->paranoid >= 0;
	if (*line == '-')
		rights->paranoid = -rights->paranoid;
	gn_file_start(text, sizeof(text), "%s/proc/self/status", root);
	gn_keyed_value(text, "CapEff", value, sizeof(value));
	rights->capabilities = strtoull(value, &end, 16);
	if (*end)
		rights->capabilities = 0;
	gn_keyed_value(text, "Seccomp", value, sizeof(value));
	rights->seccomp = gn_whole_number(value);
	gn_line_in(line, sizeof(line), root, "proc/self/uid_map");
	rights->is_in_user_namespace =
		*line && (sscanf(line, "%llu %llu %llu", &map[0], &map[1], &map[2]) != 3 ||
			  map[0] || map[1] || map[2] != 4294967295u);
	rights->is_privileged =
		(rights->capabilities & CAPABILITIES) && !rights->is_in_user_namespace;
	open_files(root, rights);
}
