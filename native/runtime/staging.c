/* Files of this process in the staging folder. */
#include "staging.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_signals.h"
#include "host_name.h"
#include "write_all.h"

static int is_switched_off(const char *capability)
{
	const size_t length = strlen(capability);
	const char *name = getenv(GN_STAGING_WITHOUT);

	for (; name && *name; name += strcspn(name, ","), name += *name == ',')
		if (strcspn(name, ",") == length && !strncmp(name, capability, length))
			return 1;
	return 0;
}

const char *gn_staging_folder(const char *capability)
{
	const char *folder = secure_getenv(GN_STAGING_VARIABLE);

	return folder && folder[0] == '/' && !is_switched_off(capability) ? folder : NULL;
}

struct gn_staging_origin gn_staging_here(const char *capability, char *host)
{
	struct timespec now;

	gn_host_name(host);
	clock_gettime(CLOCK_REALTIME, &now);
	return (struct gn_staging_origin){capability, host, (uint32_t)getpid(),
					  (uint64_t)now.tv_sec * 1000000000u +
						  (uint64_t)now.tv_nsec};
}

int gn_staging_path(const struct gn_staging_origin *origin, const char *ending, char *path,
		    size_t size)
{
	const char *folder = gn_staging_folder(origin->capability);
	int length;

	if (!folder)
		return -ENOENT;
	length = snprintf(path, size, "%s/%.255s.%u.%llu.%s", folder, origin->host, origin->pid,
			  (unsigned long long)origin->realtime_ns, ending);
	return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

int gn_staging_link(const struct gn_staging_origin *origin, const char *ending, const char *target)
{
	char path[PATH_MAX];
	int error = gn_staging_path(origin, ending, path, sizeof(path));

	if (!error && symlink(target, path))
		error = -errno;
	return error;
}

/* As a whole beside its place, then moved there. */
static int write_beside(const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX + 8];
	int fd, error;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	error = -gn_write_all(fd, bytes, size);
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(temporary, path))
		error = -errno;
	if (error)
		unlink(temporary);
	return error;
}

int gn_staging_write(const struct gn_staging_origin *origin, const char *ending, const void *bytes,
		     size_t size)
{
	struct gn_file_signals signals;
	char path[PATH_MAX];
	int error = gn_staging_path(origin, ending, path, sizeof(path));

	if (error)
		return error;
	gn_file_signals_hold(&signals);
	error = write_beside(path, bytes, size);
	gn_file_signals_release(&signals);
	return error;
}

int gn_staging_append(const struct gn_staging_origin *origin, const char *ending, const char *head,
		      const char *line)
{
	struct gn_file_signals signals;
	char path[PATH_MAX];
	int fd, error = gn_staging_path(origin, ending, path, sizeof(path));

	if (error)
		return error;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	gn_file_signals_hold(&signals);
	if (!lseek(fd, 0, SEEK_END))
		error = -gn_write_all(fd, head, strlen(head));
	if (!error)
		error = -gn_write_all(fd, line, strlen(line));
	gn_file_signals_release(&signals);
	if (close(fd) && !error)
		error = -errno;
	return error;
}
