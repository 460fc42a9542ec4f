/* Writing files that a full disk, a limit or a broken pipe cannot leave half done. */
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_all.h"

/* Programs may have closed the first three, and still write to them. */
static int above_standard(int fd)
{
	int other;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return other;
}

/* A device or a pipe is written to as it is. */
static int open_special(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

static int open_temporary(struct gn_atomic_file *file)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int length = snprintf(file->temporary, sizeof(file->temporary), "%s.%ld.part", file->path,
			      (long)getpid());
	int fd;

	if (length >= (int)sizeof(file->temporary)) {
		file->temporary[0] = 0;
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(file->temporary, flags, 0666);
	if (fd < 0 && errno == EEXIST && !unlink(file->temporary))
		fd = open(file->temporary, flags, 0666);
	if (fd < 0)
		file->temporary[0] = 0;
	return fd;
}

void gn_atomic_file_open(struct gn_atomic_file *file, const char *path)
{
	struct stat status;

	file->error = 0;
	file->used = 0;
	file->name = path;
	file->temporary[0] = 0;
	/* A link stays one: what it points to is replaced. */
	if (!realpath(path, file->path))
		snprintf(file->path, sizeof(file->path), "%s", path);
	if (!stat(file->path, &status) && !S_ISREG(status.st_mode))
		file->fd = open_special(file->path);
	else
		file->fd = open_temporary(file);
	file->fd = above_standard(file->fd);
	if (file->fd < 0)
		file->error = errno;
}

void gn_atomic_file_wrap(struct gn_atomic_file *file, int fd, const char *name)
{
	file->fd = fd;
	file->error = 0;
	file->used = 0;
	file->name = name;
	file->path[0] = 0;
	file->temporary[0] = 0;
}

static void flush(struct gn_atomic_file *file)
{
	if (!file->error)
		file->error = gn_write_all(file->fd, file->buffer, file->used);
	file->used = 0;
}

void gn_put(struct gn_atomic_file *file, const char *text, size_t length)
{
	while (length) {
		size_t part = sizeof(file->buffer) - file->used;

		if (part > length)
			part = length;
		memcpy(file->buffer + file->used, text, part);
		file->used += part;
		text += part;
		length -= part;
		if (file->used == sizeof(file->buffer))
			flush(file);
	}
}

void gn_puts(struct gn_atomic_file *file, const char *text)
{
	gn_put(file, text, strlen(text));
}

void gn_print(struct gn_atomic_file *file, const char *format, ...)
{
	char text[2048];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || length >= (int)sizeof(text)) {
		if (!file->error)
			file->error = EOVERFLOW;
		return;
	}
	gn_put(file, text, (size_t)length);
}

int gn_atomic_file_close(struct gn_atomic_file *file)
{
	flush(file);
	if (file->path[0] && file->fd >= 0 && close(file->fd) && !file->error)
		file->error = errno;
	if (file->temporary[0] && !file->error && rename(file->temporary, file->path))
		file->error = errno;
	if (file->error && file->temporary[0])
		unlink(file->temporary);
	return file->error;
}
