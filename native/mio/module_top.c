/* The module `mio`: the program's side of a file, which may open it otherwise than the program
 * says. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "mio_registry.h"

enum { MODE, DIRECT, SET_OFLAGS, CLEAR_OFLAGS, N_SETTINGS };

/* Of DIRECT: as the program says. */
#define KEEP -1

static const struct gn_mio_option options[] = {
	{.name = "mode",
	 .kind = GN_MIO_NUMBER,
	 .setting = MODE,
	 .value = 0,
	 .least = 0,
	 .most = 07777,
	 .help = "the mode of a file that is made, in place of the program's"},
	{.name = "nomode",
	 .kind = GN_MIO_SWITCH,
	 .setting = MODE,
	 .value = KEEP,
	 .help = "the program's mode"},
	{.name = "direct",
	 .kind = GN_MIO_SWITCH,
	 .setting = DIRECT,
	 .value = 1,
	 .help = "sets O_DIRECT; memory, offsets and sizes then have to be aligned"},
	{.name = "nodirect",
	 .kind = GN_MIO_SWITCH,
	 .setting = DIRECT,
	 .value = 0,
	 .help = "clears O_DIRECT"},
	{.name = "set_oflags",
	 .kind = GN_MIO_NUMBER,
	 .setting = SET_OFLAGS,
	 .value = 0,
	 .least = 0,
	 .most = INT_MAX,
	 .help = "bits of the flags of open(2) that are set"},
	{.name = "clear_oflags",
	 .kind = GN_MIO_NUMBER,
	 .setting = CLEAR_OFLAGS,
	 .value = 0,
	 .least = 0,
	 .most = INT_MAX,
	 .help = "bits of them that are cleared"},
};

static const struct gn_mio_setting defaults[N_SETTINGS] = {
	[MODE] = {.number = KEEP},
	[DIRECT] = {.number = KEEP},
};

static int top_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	const struct gn_mio_setting *setting = layer->setting;

	file->flags &= ~(int)setting[CLEAR_OFLAGS].number;
	file->flags |= (int)setting[SET_OFLAGS].number;
	if (setting[DIRECT].number == 0)
		file->flags &= ~O_DIRECT;
	if (setting[DIRECT].number == 1)
		file->flags |= O_DIRECT;
	if (setting[MODE].number != KEEP)
		file->mode = (mode_t)setting[MODE].number;
	return gn_mio_below_open(layer, file);
}

const struct gn_mio_module gn_mio_top = {
	.version = GN_MIO_VERSION,
	.name = "mio",
	.summary = "the interface to the program",
	.option = options,
	.n_options = sizeof(options) / sizeof(*options),
	.n_settings = N_SETTINGS,
	.defaults = defaults,
	.open = top_open,
};
