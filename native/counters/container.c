/*
 * The container that this process runs in, by the traces that engines leave.
 *
 * Source: namespaces(7), /.dockerenv, /run/.containerenv, the environment of process 1 and the
 * names of cgroups. The marks of an engine stay in a file system when it becomes a virtual
 * machine's: who still has the kernel's first namespaces is in no container.
 */
#include "host_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "read_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Inode numbers of include/uapi/linux/nsfs.h, the same in every kernel since Linux 3.8. */
static int has_first_namespaces(const char *root)
{
	static const char *const links[][2] = {{"pid", "pid:[4026531836]"},
					       {"uts", "uts:[4026531838]"}};

	for (size_t i = 0; i < COUNT(links); i++) {
		char path[GN_PATH_MAX], link[64];
		ssize_t length;

		if (snprintf(path, sizeof(path), "%s/proc/self/ns/%s", root, links[i][0]) >=
		    (int)sizeof(path))
			return 0;
		length = readlink(path, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		if (strcmp(link, links[i][1]))
			return 0;
	}
	return 1;
}

__attribute__((format(printf, 4, 5))) static int set_engine(struct gn_container *container,
							    const char *engine, size_t length,
							    const char *evidence, ...)
{
	const size_t most = sizeof(container->engine) - 1;
	va_list arguments;

	snprintf(container->engine, sizeof(container->engine), "%.*s",
		 (int)(length < most ? length : most), engine);
	va_start(arguments, evidence);
	vsnprintf(container->evidence, sizeof(container->evidence), evidence, arguments);
	va_end(arguments);
	return 1;
}

/* systemd and others set container=... for process 1; Kubernetes has variables of its own. */
static int by_environment(const char *root, struct gn_container *container)
{
	static const char where[] = "in the environment of process 1";
	static const char kubernetes[] = "KUBERNETES_SERVICE_HOST";
	char text[32768], *rest = text, *entry;

	gn_file_start(text, sizeof(text), "%s/proc/1/environ", root);
	while ((entry = strsep(&rest, "\1"))) {
		char *value = strchr(entry, '=');

		if (value)
			*value++ = '\0';
		if (!strcmp(entry, "container") && value && *value)
			return set_engine(container, value, strlen(value), "container=%s %s", value,
					  where);
		if (!strcmp(entry, kubernetes))
			return set_engine(container, "kubernetes", strlen("kubernetes"), "%s %s",
					  kubernetes, where);
	}
	return 0;
}

static int is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* A folder's name that is an engine's, or begins as those of an engine do. */
static int by_cgroup(const char *root, struct gn_container *container)
{
	static const char *const engines[] = {"docker", "lxc",	"kubepods",
					      "libpod", "crio", "garden"};
	char text[2 * GN_FILE_MAX];

	gn_file_start(text, sizeof(text), "%s/proc/1/cgroup", root);
	for (const char *slash = text; (slash = strchr(slash, '/')); slash++) {
		for (size_t i = 0; i < COUNT(engines); i++) {
			const size_t length = strlen(engines[i]);
			const char *end = slash + 1 + length;

			if (strncmp(slash + 1, engines[i], length))
				continue;
			if ((*end && strchr("-./", *end)) || (i < 3 && !is_name_character(*end)))
				return set_engine(container, engines[i], length,
						  "/proc/1/cgroup: %s", engines[i]);
		}
	}
	return 0;
}

int gn_container(const char *root, struct gn_container *container)
{
	if (has_first_namespaces(root))
		return 0;
	if (gn_file_exists("%s/run/.containerenv", root))
		return set_engine(container, "podman", strlen("podman"), "/run/.containerenv");
	if (gn_file_exists("%s/.dockerenv", root))
		return set_engine(container, "docker", strlen("docker"), "/.dockerenv");
	return by_environment(root, container) || by_cgroup(root, container);
}
