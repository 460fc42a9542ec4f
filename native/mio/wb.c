#include "wb.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "mio_heap.h"

#define KIB INT64_C(1024)

enum setting { SIZE, STATS, INTER, SETTINGS };

static const struct gn_mio_option option[] = {
	{.name = "size",
	 .kind = GN_MIO_NUMBER,
	 .setting = SIZE,
	 .value = 1024 * KIB,
	 .least = 4 * KIB,
	 .most = 65536 * KIB,
	 .help = "Bytes that are held at most, and lost by kill -9 at most."},
	{.name = "stats",
	 .kind = GN_MIO_TEXT,
	 .setting = STATS,
	 .value = 1,
	 .text = "mioout",
	 .help = "Where statistics go at the close."},
	{.name = "nostats", .kind = GN_MIO_SWITCH, .setting = STATS, .help = "No statistics."},
	{.name = "inter",
	 .kind = GN_MIO_NUMBER,
	 .setting = INTER,
	 .value = 30,
	 .least = 1,
	 .most = 64,
	 .help = "Statistics at this signal too."},
	{.name = "nointer",
	 .kind = GN_MIO_SWITCH,
	 .setting = INTER,
	 .help = "Statistics at the close only."},
};

static const struct gn_mio_setting defaults[SETTINGS] = {
	[SIZE] = {.number = 1024 * KIB},
	[STATS] = {.number = 1, .text = "mioout"},
};

struct wb {
	char *buffer; /* NULL before the first write */
	size_t size, used;
	int64_t start; /* of the buffer's bytes in the file */
	int is_aside;
	int may_write;
	int is_in_file; /* the file is known to reach to the end of the bytes */
	int error;	/* negative: of a delayed write, to be told */
	uint64_t writes, flushes, flush_bytes;
};

/* What could not be written is given up, as the kernel gives up a page that it cannot write. */
static int flush_buffer(struct gn_mio_layer *layer, struct wb *wb)
{
	size_t done = 0;
	ssize_t n = 0;

	if (!wb->used)
		return 0;
	wb->flushes++;
	while (done < wb->used) {
		n = gn_mio_below_write(layer, wb->buffer + done, wb->used - done,
				       wb->start + (int64_t)done);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	wb->flush_bytes += done;
	if (done == wb->used) {
		wb->used = 0;
		return 0;
	}
	wb->used = 0;
	return n < 0 ? (int)n : -EIO;
}

/* For calls that have no error of a write to tell: it waits for one that has. */
static void flush_quietly(struct gn_mio_layer *layer)
{
	struct wb *wb = layer->state;
	int error = flush_buffer(layer, wb);

	if (error && !wb->error)
		wb->error = error;
}

/* For calls that have: once. */
static int flush_and_tell(struct gn_mio_layer *layer)
{
	struct wb *wb = layer->state;
	int error;

	flush_quietly(layer);
	error = wb->error;
	wb->error = 0;
	return error;
}

static int are_delays_allowed(int flags)
{
	const int access = flags & O_ACCMODE;

	/* Of neither is an access mode for ioctl(2) alone: open(2). */
	return (access == O_WRONLY || access == O_RDWR) &&
	       !(flags & (O_APPEND | O_DIRECT | O_DSYNC | O_SYNC));
}

static int wb_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	struct wb *wb = layer->state;
	struct stat status;
	int result = gn_mio_below_open(layer, file);

	if (result < 0)
		return result;
	wb->size = (size_t)layer->setting[SIZE].number;
	wb->may_write = are_delays_allowed(file->flags);
	wb->is_aside =
		!wb->may_write || gn_mio_below_status(layer, &status) || !S_ISREG(status.st_mode);
	return result;
}

/* Whether the bytes are, or can be, in one piece with those that are held. */
static int is_adjacent(const struct wb *wb, size_t bytes, int64_t offset)
{
	return offset >= wb->start && offset <= wb->start + (int64_t)wb->used &&
	       (size_t)(offset - wb->start) + bytes <= wb->size;
}

static ssize_t write_slowly(struct gn_mio_layer *layer, struct wb *wb, const void *from,
			    size_t bytes, int64_t offset)
{
	int error;

	if (wb->is_aside)
		return gn_mio_below_write(layer, from, bytes, offset);
	error = flush_and_tell(layer);
	if (error)
		return error;
	if (!wb->buffer)
		wb->buffer = gn_mio_heap_take(wb->size);
	if (!wb->buffer || bytes > wb->size / 2 || offset < 0 || !bytes ||
	    offset > INT64_MAX - (int64_t)wb->size)
		return gn_mio_below_write(layer, from, bytes, offset);
	wb->start = offset;
	wb->is_in_file = 0;
	memcpy(wb->buffer, from, bytes);
	wb->used = bytes;
	return (ssize_t)bytes;
}

static ssize_t wb_write(struct gn_mio_layer *layer, const void *from, size_t bytes, int64_t offset)
{
	struct wb *wb = layer->state;
	size_t end;

	wb->writes++;
	if (!wb->used || wb->error || !bytes || bytes > wb->size / 2 ||
	    !is_adjacent(wb, bytes, offset))
		return write_slowly(layer, wb, from, bytes, offset);
	memcpy(wb->buffer + (offset - wb->start), from, bytes);
	end = (size_t)(offset - wb->start) + bytes;
	if (end > wb->used) {
		wb->used = end;
		wb->is_in_file = 0;
	}
	return (ssize_t)bytes;
}

/* Other reads need not wait, unless the file ends before what is held: then it ends elsewhere.
 * Where one without an offset is only the kernel knows. */
static int is_read_of_held(struct gn_mio_layer *layer, struct wb *wb, size_t bytes, int64_t offset)
{
	const int64_t end = wb->start + (int64_t)wb->used;
	struct stat status;

	if (offset < 0)
		return 1;
	if (offset < end && (offset >= wb->start || bytes > (uint64_t)(wb->start - offset)))
		return 1;
	if (!wb->is_in_file)
		wb->is_in_file = !gn_mio_below_status(layer, &status) && status.st_size >= end;
	return !wb->is_in_file;
}

static ssize_t wb_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	struct wb *wb = layer->state;

	if (wb->used && is_read_of_held(layer, wb, bytes, offset))
		flush_quietly(layer);
	return gn_mio_below_read(layer, to, bytes, offset);
}

static int wb_status(struct gn_mio_layer *layer, struct stat *status)
{
	flush_quietly(layer);
	return gn_mio_below_status(layer, status);
}

static int wb_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	flush_quietly(layer);
	return gn_mio_below_truncate(layer, bytes);
}

static int wb_sync(struct gn_mio_layer *layer, int data_only)
{
	int error = flush_and_tell(layer);
	int below = gn_mio_below_sync(layer, data_only);

	return error ? error : below;
}

static int wb_control(struct gn_mio_layer *layer, int command, void *argument)
{
	struct wb *wb = layer->state;
	int result;

	/* A lock that is taken or given back is where others look. */
	if (command != F_GETFL && command != F_GETFD && command != F_SETFD)
		flush_quietly(layer);
	result = gn_mio_below_control(layer, command, argument);
	if (command == F_SETFL && result >= 0 && wb->may_write)
		wb->is_aside = !are_delays_allowed((layer->file->flags & O_ACCMODE) |
						   (int)(intptr_t)argument);
	return result;
}

/* The error is told here and to the program's next write, sync or close: it calls no flush. */
static int wb_flush(struct gn_mio_layer *layer)
{
	struct wb *wb = layer->state;
	int below;

	flush_quietly(layer);
	below = gn_mio_below_flush(layer);
	return wb->error ? wb->error : below == -ENOSYS ? 0 : below;
}

static int wb_close(struct gn_mio_layer *layer)
{
	struct wb *wb = layer->state;
	int error = flush_and_tell(layer);
	int below = gn_mio_below_close(layer);

	gn_mio_heap_give(wb->buffer);
	wb->buffer = NULL;
	return error ? error : below;
}

static void wb_tell(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final)
{
	const struct gn_mio_setting *setting = layer->setting;
	const struct wb *wb = layer->state;

	if (!setting[STATS].number || (!is_final && !setting[INTER].number))
		return;
	gn_mio_print(output, "wb: %s\n  %-28s %12" PRIu64 "\n", layer->file->path, "writes",
		     wb->writes);
	gn_mio_print(output, "  %-28s %12" PRIu64 "  %14" PRIu64 " bytes\n", "buffers written",
		     wb->flushes, wb->flush_bytes);
	gn_mio_print(output, "  %-28s %12zu bytes (kill -9 loses them; at most %zu)\n", "held now",
		     wb->used, wb->size);
}

static void wb_forked(struct gn_mio_layer *layer)
{
	struct wb *wb = layer->state;

	wb->writes = wb->flushes = wb->flush_bytes = 0;
}

const struct gn_mio_module gn_mio_wb = {
	.version = GN_MIO_VERSION,
	.state_bytes = sizeof(struct wb),
	.name = "wb",
	.summary = "Write-behind: small writes one after the other become large ones.",
	.option = option,
	.n_options = sizeof(option) / sizeof(*option),
	.n_settings = SETTINGS,
	.defaults = defaults,
	.open = wb_open,
	.read = wb_read,
	.write = wb_write,
	.status = wb_status,
	.truncate = wb_truncate,
	.sync = wb_sync,
	.control = wb_control,
	.flush = wb_flush,
	.close = wb_close,
	.tell = wb_tell,
	.forked = wb_forked,
};
