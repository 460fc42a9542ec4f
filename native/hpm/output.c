/* Writing files that a full disk, a limit or a broken pipe cannot leave half done. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "numbers.h"
#include "report.h"

void hpm_signals_hold(struct hpm_signals *signals)
{
	sigemptyset(&signals->held);
	sigaddset(&signals->held, SIGPIPE);
	sigaddset(&signals->held, SIGXFSZ);
	sigpending(&signals->pending);
	pthread_sigmask(SIG_BLOCK, &signals->held, &signals->before);
}

void hpm_signals_release(const struct hpm_signals *signals)
{
	static const struct timespec at_once;
	const int ours[] = {SIGPIPE, SIGXFSZ};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		sigset_t one;

		/* What waited before is the program's own. */
		if (sigismember(&signals->pending, ours[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, ours[i]);
		while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

int hpm_write(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};

			poll(&room, 1, -1);
		} else if (n < 0 && errno != EINTR) {
			return errno;
		}
		text += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

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

static int open_temporary(struct hpm_output *output)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int length = snprintf(output->temporary, sizeof(output->temporary), "%s.%ld.part",
			      output->path, (long)getpid());
	int fd;

	if (length >= (int)sizeof(output->temporary)) {
		output->temporary[0] = 0;
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(output->temporary, flags, 0666);
	if (fd < 0 && errno == EEXIST && !unlink(output->temporary))
		fd = open(output->temporary, flags, 0666);
	if (fd < 0)
		output->temporary[0] = 0;
	return fd;
}

void hpm_output_open(struct hpm_output *output, const char *path)
{
	struct stat status;

	output->error = 0;
	output->used = 0;
	output->what = path;
	output->temporary[0] = 0;
	/* A link stays one: what it points to is replaced. */
	if (!realpath(path, output->path))
		snprintf(output->path, sizeof(output->path), "%s", path);
	if (!stat(output->path, &status) && !S_ISREG(status.st_mode))
		output->fd = open_special(output->path);
	else
		output->fd = open_temporary(output);
	output->fd = above_standard(output->fd);
	if (output->fd < 0)
		output->error = errno;
}

void hpm_output_to(struct hpm_output *output, int fd, const char *what)
{
	output->fd = fd;
	output->error = 0;
	output->used = 0;
	output->what = what;
	output->path[0] = 0;
	output->temporary[0] = 0;
}

static void flush(struct hpm_output *output)
{
	if (!output->error)
		output->error = hpm_write(output->fd, output->buffer, output->used);
	output->used = 0;
}

void hpm_put(struct hpm_output *output, const char *text, size_t length)
{
	while (length) {
		size_t part = sizeof(output->buffer) - output->used;

		if (part > length)
			part = length;
		memcpy(output->buffer + output->used, text, part);
		output->used += part;
		text += part;
		length -= part;
		if (output->used == sizeof(output->buffer))
			flush(output);
	}
}

void hpm_puts(struct hpm_output *output, const char *text)
{
	hpm_put(output, text, strlen(text));
}

void hpm_print(struct hpm_output *output, const char *format, ...)
{
	char text[2048];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || length >= (int)sizeof(text)) {
		if (!output->error)
			output->error = EOVERFLOW;
		return;
	}
	hpm_put(output, text, (size_t)length);
}

static const char *remedy(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "make room there, or set HPM_OUTPUT_NAME to another place";
	case EFBIG:
		return "raise the limit of a file's size (ulimit -f), or write fewer files";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case ENOENT:
		return "make the folder, or set HPM_OUTPUT_NAME to another place";
	case ENAMETOOLONG:
		return "set HPM_OUTPUT_NAME to a shorter name";
	}
	return "set HPM_OUTPUT_NAME to a name that can be written";
}

int hpm_output_close(struct hpm_output *output)
{
	int is_ours = output->path[0];
	char why[128];

	flush(output);
	if (is_ours && output->fd >= 0 && close(output->fd) && !output->error)
		output->error = errno;
	if (output->temporary[0] && !output->error && rename(output->temporary, output->path))
		output->error = errno;
	if (!output->error)
		return 0;
	if (output->temporary[0])
		unlink(output->temporary);
	if (output->error == EPIPE)
		return 0;
	hpm_warn("%.600s was not written: %s; %s", output->what,
		 strerror_r(output->error, why, sizeof(why)),
		 is_ours ? remedy(output->error) : "unset HPM_STDOUT, or send it elsewhere");
	return -1;
}
