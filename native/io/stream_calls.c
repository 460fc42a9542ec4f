/*
 * Calls of stdio(3) and of directories. What these do with the kernel inside the C library is not
 * seen: bytes of a stream are those that the program moved, in or out of its buffer.
 */
#include <string.h>

#include "io_call.h"

/* Of a stream in memory there is no descriptor. */
static int descriptor_of(FILE *stream)
{
	const int before = errno;
	const int fd = stream ? fileno(stream) : -1;

	errno = before;
	return fd;
}

static struct gn_io_target target_of(FILE *stream)
{
	const int fd = descriptor_of(stream);
	struct gn_io_target target = GN_IO_NOTHING;
	const struct gn_io_open_file *own;
	struct gn_io_work work;

	gn_io_work_begin(&work);
	own = gn_io_descriptor_get(fd);
	target.file = own ? own->file : gn_io_file("(memory)");
	if (own)
		target.opening = own->opening;
	gn_io_work_end(&work);
	return target;
}

void gn_io_stream_moved(const struct gn_io_call *call, FILE *stream, enum gn_io_direction direction,
			uint64_t asked, uint64_t delivered, int failed)
{
	if (call->thread)
		gn_io_stream_request(call, descriptor_of(stream), direction, asked, delivered,
				     failed);
}

void gn_io_stream_used(const struct gn_io_call *call, FILE *stream, int failed)
{
	if (call->thread)
		gn_io_add(call, target_of(stream), GN_IO_NO_POSITION, failed);
}

void gn_io_stream_flushed(const struct gn_io_call *call, FILE *stream, int failed)
{
	if (stream)
		gn_io_stream_used(call, stream, failed);
	else
		gn_io_closed(call, GN_IO_NO_FILE, failed);
}

int64_t gn_io_told(const struct gn_io_call *call, FILE *stream, int failed)
{
	const int before = errno;
	struct gn_io_work work;
	int64_t position;

	if (failed || !call->thread)
		return -1;
	gn_io_work_begin(&work);
	position = ftello(stream);
	gn_io_work_end(&work);
	errno = before;
	return position < 0 ? 0 : position;
}

void gn_io_stream_sought(const struct gn_io_call *call, FILE *stream, int64_t result)
{
	struct gn_io_open_file *own;

	if (!call->thread)
		return;
	own = gn_io_descriptor_find(descriptor_of(stream));
	if (own && result >= 0)
		atomic_store_explicit(&own->stream_position, result, memory_order_relaxed);
	gn_io_add(call, target_of(stream), result < 0 ? GN_IO_NO_POSITION : result, result < 0);
}

void gn_io_stream_opened(const struct gn_io_call *call, FILE *stream, const char *path,
			 const char *mode)
{
	gn_io_opened(call, descriptor_of(stream), AT_FDCWD, path,
		     mode && mode[0] == 'a' ? O_APPEND : 0);
}

uint32_t gn_io_stream_closing(struct gn_io_call *call, FILE *stream)
{
	const int fd = descriptor_of(stream);

	if (!call->thread)
		return GN_IO_NO_FILE;
	return fd < 0 ? target_of(stream).file
		      : gn_io_closing(call, (unsigned int)fd, (unsigned int)fd);
}

void gn_io_directory_opened(const struct gn_io_call *call, DIR *directory, const char *path)
{
	gn_io_opened(call, directory ? dirfd(directory) : -1, AT_FDCWD, path, O_DIRECTORY);
}

void gn_io_directory_used(const struct gn_io_call *call, DIR *directory, int failed)
{
	gn_io_used(call, directory ? dirfd(directory) : -1, failed);
}

uint32_t gn_io_directory_closing(struct gn_io_call *call, DIR *directory)
{
	const int fd = directory ? dirfd(directory) : -1;

	return fd < 0 ? GN_IO_NO_FILE : gn_io_closing(call, (unsigned int)fd, (unsigned int)fd);
}
