/* The module `aix`, also called `os`: the system's side of a file. */
#include <errno.h>
#include <unistd.h>

#include "mio_output.h"
#include "mio_registry.h"
#include "mio_stack.h"
#include "system_calls.h"

enum { DEBUG, N_SETTINGS };

static const struct gn_mio_option options[] = {
	{.name = "debug",
	 .kind = GN_MIO_SWITCH,
	 .setting = DEBUG,
	 .value = 1,
	 .help = "tells of each open and close in MIO_STATS"},
	{.name = "nodebug",
	 .kind = GN_MIO_SWITCH,
	 .setting = DEBUG,
	 .value = 0,
	 .help = "does not tell of them"},
};

static const struct gn_mio_setting defaults[N_SETTINGS];

/* `what` has the arguments and the result of the call. */
#define TELL(layer, ...)                                                                           \
	do {                                                                                       \
		if ((layer)->setting[DEBUG].number) {                                              \
			struct gn_mio_output *output = gn_mio_output_begin(NULL);                  \
                                                                                                   \
			gn_mio_print(output, __VA_ARGS__);                                         \
			gn_mio_output_end(output);                                                 \
		}                                                                                  \
	} while (0)

static int aix_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	const int fd = gn_mio_system_open(file->path, file->flags, file->mode);

	TELL(layer, "aix open: %s oflags=0x%x mode=0%o: %d\n", file->path,
	     (unsigned int)file->flags, (unsigned int)file->mode, fd);
	if (fd < 0)
		return fd;
	gn_mio_set_descriptor(layer, fd);
	return 0;
}

static ssize_t aix_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	const int fd = gn_mio_descriptor(layer);

	return offset == GN_MIO_NO_OFFSET ? gn_mio_system_read(fd, to, bytes)
					  : gn_mio_system_pread(fd, to, bytes, offset);
}

static ssize_t aix_write(struct gn_mio_layer *layer, const void *from, size_t bytes, int64_t offset)
{
	const int fd = gn_mio_descriptor(layer);

	return offset == GN_MIO_NO_OFFSET ? gn_mio_system_write(fd, from, bytes)
					  : gn_mio_system_pwrite(fd, from, bytes, offset);
}

/* Requests have an offset of their own. */
static int aix_seek(struct gn_mio_layer *layer, int64_t from, int64_t to)
{
	(void)layer, (void)from, (void)to;
	return 0;
}

static int aix_status(struct gn_mio_layer *layer, struct stat *status)
{
	return gn_mio_system_status(gn_mio_descriptor(layer), status);
}

static int aix_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	return gn_mio_system_truncate(gn_mio_descriptor(layer), bytes);
}

static int aix_sync(struct gn_mio_layer *layer, int data_only)
{
	return gn_mio_system_sync(gn_mio_descriptor(layer), data_only);
}

static int aix_control(struct gn_mio_layer *layer, int command, void *argument)
{
	return gn_mio_system_control(gn_mio_descriptor(layer), command, argument);
}

/* Nothing is held here. */
static int aix_flush(struct gn_mio_layer *layer)
{
	(void)layer;
	return 0;
}

static int aix_close(struct gn_mio_layer *layer)
{
	const int fd = gn_mio_descriptor(layer);
	int result = 0;

	/* The program has closed it by other means, and may have another file under its number. */
	if (fd >= 0)
		result = gn_mio_system_close(fd);
	TELL(layer, "aix close: %s descriptor %d: %d\n", layer->file->path, fd, result);
	gn_mio_set_descriptor(layer, -1);
	return result;
}

const struct gn_mio_module gn_mio_aix = {
	.version = GN_MIO_VERSION,
	.name = "aix",
	.summary = "the interface to the operating system",
	.option = options,
	.n_options = sizeof(options) / sizeof(*options),
	.n_settings = N_SETTINGS,
	.defaults = defaults,
	.open = aix_open,
	.read = aix_read,
	.write = aix_write,
	.seek = aix_seek,
	.status = aix_status,
	.truncate = aix_truncate,
	.sync = aix_sync,
	.control = aix_control,
	.flush = aix_flush,
	.drop = aix_flush,
	.close = aix_close,
};
