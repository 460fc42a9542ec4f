/*
 * Calls of the next layer below. A layer without such a function is passed over; the lowest of each
 * kind is that of `aix`.
 */
#include <errno.h>

#include "mio_module.h"

#define NEXT(layer, function)                                                                      \
	do                                                                                         \
		(layer) = (layer)->below;                                                          \
	while ((layer) && !(layer)->module->function)

int gn_mio_below_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	NEXT(layer, open);
	return layer ? layer->module->open(layer, file) : -ENOSYS;
}

ssize_t gn_mio_below_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	NEXT(layer, read);
	return layer ? layer->module->read(layer, to, bytes, offset) : -ENOSYS;
}

ssize_t gn_mio_below_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			   int64_t offset)
{
	NEXT(layer, write);
	return layer ? layer->module->write(layer, from, bytes, offset) : -ENOSYS;
}

int gn_mio_below_seek(struct gn_mio_layer *layer, int64_t from, int64_t to)
{
	NEXT(layer, seek);
	return layer ? layer->module->seek(layer, from, to) : -ENOSYS;
}

int gn_mio_below_status(struct gn_mio_layer *layer, struct stat *status)
{
	NEXT(layer, status);
	return layer ? layer->module->status(layer, status) : -ENOSYS;
}

int gn_mio_below_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	NEXT(layer, truncate);
	return layer ? layer->module->truncate(layer, bytes) : -ENOSYS;
}

int gn_mio_below_sync(struct gn_mio_layer *layer, int data_only)
{
	NEXT(layer, sync);
	return layer ? layer->module->sync(layer, data_only) : -ENOSYS;
}

int gn_mio_below_control(struct gn_mio_layer *layer, int command, void *argument)
{
	NEXT(layer, control);
	return layer ? layer->module->control(layer, command, argument) : -ENOSYS;
}

int gn_mio_below_flush(struct gn_mio_layer *layer)
{
	NEXT(layer, flush);
	return layer ? layer->module->flush(layer) : -ENOSYS;
}

int gn_mio_below_drop(struct gn_mio_layer *layer)
{
	NEXT(layer, drop);
	return layer ? layer->module->drop(layer) : -ENOSYS;
}

int gn_mio_below_close(struct gn_mio_layer *layer)
{
	NEXT(layer, close);
	return layer ? layer->module->close(layer) : -ENOSYS;
}
