#include "mio_output.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "descriptor.h"
#include "file_signals.h"
#include "mio_debug.h"
#include "mio_header.h"
#include "mio_heap.h"
#include "mio_text.h"
#include "stderr_line.h"
#include "system_calls.h"

/* A file, or a stream of the program. */
struct gn_mio_sink {
	struct gn_mio_sink *next;
	int fd; /* -1: not open yet, -2: it cannot be written to */
	bool has_header;
	dev_t device;
	ino_t inode;
	char name[];
};

static struct gn_mio_variables variables;
static unsigned int debug_bits;
static struct gn_mio_sink *sinks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_forked;

void gn_mio_output_configure(const struct gn_mio_variables *values, unsigned int debug)
{
	variables = *values;
	debug_bits = debug;
}

void gn_mio_output_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	is_forked = true;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Tells of a file that cannot be written, once. */
static void give_up(struct gn_mio_sink *sink, int error)
{
	char buffer[128];
	struct iovec texts[] = {
		{.iov_base = "gnomon: cannot write MIO's statistics to "},
		{.iov_base = sink->name},
		{.iov_base = ": "},
		{.iov_base = strerror_r(error, buffer, sizeof(buffer))},
		{.iov_base = "; name another file in MIO_STATS or stats=\n"},
	};

	gn_stderr_line(texts, sizeof(texts) / sizeof(*texts));
	sink->fd = -2;
}

/* Programs that become daemons close all descriptors and have others under their numbers. */
static bool is_ours(const struct gn_mio_sink *sink)
{
	struct stat status;

	return !gn_mio_system_status(sink->fd, &status) && status.st_dev == sink->device &&
	       status.st_ino == sink->inode;
}

static void open_sink(struct gn_mio_sink *sink)
{
	const bool is_appended = sink->name[0] == '+' || sink->has_header || is_forked;
	const char *path = sink->name + (sink->name[0] == '+');
	struct stat status;
	int fd;

	/* Without O_NONBLOCK a named pipe that nobody reads would hold the program up. */
	fd = gn_mio_system_open(path,
				O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK |
					(is_appended ? 0 : O_TRUNC),
				0666);
	if (fd < 0) {
		give_up(sink, -fd);
		return;
	}
	sink->fd = gn_descriptor_raise(fd);
	if (gn_mio_system_status(sink->fd, &status))
		memset(&status, 0, sizeof(status));
	sink->device = status.st_dev;
	sink->inode = status.st_ino;
}

static int descriptor(struct gn_mio_sink *sink)
{
	if (!strcmp(sink->name, "stderr"))
		return STDERR_FILENO;
	if (!strcmp(sink->name, "stdout"))
		return STDOUT_FILENO;
	if (sink->fd == -1 || (sink->fd >= 0 && !is_ours(sink)))
		open_sink(sink);
	return sink->fd;
}

/* 0 or a negative errno. */
static int write_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		const ssize_t written = gn_mio_system_write(fd, text, bytes);

		if (written == -EINTR)
			continue;
		if (written <= 0)
			return written ? (int)written : -ENOSPC;
		text += written;
		bytes -= (size_t)written;
	}
	return 0;
}

/* What a full pipe has no room for is lost: the program does not wait for its reader. */
static void write_text(struct gn_mio_sink *sink, const char *text, size_t bytes)
{
	const int fd = descriptor(sink);
	struct gn_file_signals signals;
	int result;

	if (fd < 0)
		return;
	gn_file_signals_hold(&signals);
	result = write_all(fd, text, bytes);
	gn_file_signals_release(&signals);
	if (result && result != -EAGAIN)
		give_up(sink, -result);
}

/* With the lock held. */
static struct gn_mio_sink *sink_of(const char *name)
{
	const size_t bytes = strlen(name) + 1;
	struct gn_mio_sink *sink = sinks;

	while (sink && strcmp(sink->name, name))
		sink = sink->next;
	if (sink)
		return sink;
	sink = gn_mio_heap_take(sizeof(*sink) + bytes);
	if (!sink)
		return NULL;
	*sink = (struct gn_mio_sink){.next = sinks, .fd = -1};
	memcpy(sink->name, name, bytes);
	sinks = sink;
	return sink;
}

/* --- reports ---------------------------------------------------------------------------------- */

struct gn_mio_output *gn_mio_output_begin(const char *name)
{
	struct gn_mio_output *output = gn_mio_heap_take(sizeof(*output));

	if (!output)
		return NULL;
	if (!name || !*name || !strcmp(name, GN_MIO_STATS_NAME))
		name = variables.stats && *variables.stats ? variables.stats : GN_MIO_STATS_NAME;
	pthread_mutex_lock(&lock);
	output->sink = sink_of(name);
	pthread_mutex_unlock(&lock);
	if (output->sink)
		return output;
	gn_mio_heap_give(output);
	return NULL;
}

/* What stands before a report: the header of a file, the time. */
static void write_head(struct gn_mio_sink *sink, bool has_time)
{
	struct gn_mio_output head = {.sink = sink};

	if (!sink->has_header)
		gn_mio_print_header(&head, &variables);
	if (has_time) {
		gn_mio_print_time(&head);
		gn_mio_print(&head, "\n");
	}
	if (head.used)
		write_text(sink, head.text, head.used);
	sink->has_header = true;
	gn_mio_heap_give(head.text);
}

void gn_mio_output_end(struct gn_mio_output *output)
{
	if (!output)
		return;
	if (output->used) {
		pthread_mutex_lock(&lock);
		write_head(output->sink, debug_bits & GN_MIO_DEBUG_TIMESTAMP);
		write_text(output->sink, output->text, output->used);
		pthread_mutex_unlock(&lock);
	}
	gn_mio_heap_give(output->text);
	gn_mio_heap_give(output);
}

void gn_mio_output_create(const char *name)
{
	struct gn_mio_output *output = name || variables.stats ? gn_mio_output_begin(name) : NULL;

	if (!output)
		return;
	pthread_mutex_lock(&lock);
	write_head(output->sink, false);
	pthread_mutex_unlock(&lock);
	gn_mio_heap_give(output);
}
