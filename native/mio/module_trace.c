/* The module `trace`: counts, times and records what passes it. */
#include <errno.h>
#include <gnomon/clock.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "mio_output.h"
#include "mio_registry.h"
#include "trace_events.h"
#include "trace_report.h"

#define SIGNAL_NUMBER 30 /* SIGPWR: kill -30, as on AIX */
#define SIGNAL_LEAST 1
#define SIGNAL_MOST 64
#define SAMPLE_MOST 1000000000

enum { STATS, EVENTS, SAMPLE, INTER, UNIT, N_SETTINGS };

#define UNIT_OPTION(word, power)                                                                   \
	{.name = #word,                                                                            \
	 .kind = GN_MIO_SWITCH,                                                                    \
	 .setting = UNIT,                                                                          \
	 .value = (int64_t)1 << (power),                                                           \
	 .help = "statistics in units of " #word}

static const struct gn_mio_option options[] = {
	{.name = "stats",
	 .kind = GN_MIO_TEXT,
	 .setting = STATS,
	 .value = 1,
	 .text = GN_MIO_STATS_NAME,
	 .help = "the file for statistics at close; mioout: MIO_STATS"},
	{.name = "nostats",
	 .kind = GN_MIO_SWITCH,
	 .setting = STATS,
	 .value = 0,
	 .help = "no statistics"},
	{.name = "events",
	 .kind = GN_MIO_TEXT,
	 .setting = EVENTS,
	 .value = 1,
	 .text = "trace.events",
	 .help = "the file for a record of each operation"},
	{.name = "noevents",
	 .kind = GN_MIO_SWITCH,
	 .setting = EVENTS,
	 .value = 0,
	 .help = "no records of operations"},
	{.name = "sample",
	 .kind = GN_MIO_NUMBER,
	 .setting = SAMPLE,
	 .value = 1,
	 .least = 1,
	 .most = SAMPLE_MOST,
	 .help = "every how many reads and writes are recorded"},
	{.name = "inter",
	 .kind = GN_MIO_NUMBER,
	 .setting = INTER,
	 .value = SIGNAL_NUMBER,
	 .least = SIGNAL_LEAST,
	 .most = SIGNAL_MOST,
	 .help = "intermediate statistics at this signal; 30 is SIGPWR"},
	{.name = "nointer",
	 .kind = GN_MIO_SWITCH,
	 .setting = INTER,
	 .value = 0,
	 .help = "no intermediate statistics"},
	UNIT_OPTION(bytes, 0),
	UNIT_OPTION(kbytes, 10),
	UNIT_OPTION(mbytes, 20),
	UNIT_OPTION(gbytes, 30),
	UNIT_OPTION(tbytes, 40),
};

static const struct gn_mio_setting defaults[N_SETTINGS] = {
	[STATS] = {.number = 1, .text = GN_MIO_STATS_NAME},
	[EVENTS] = {.number = 0, .text = "trace.events"},
	[SAMPLE] = {.number = 1},
	[UNIT] = {.number = 1},
};

struct state {
	struct gn_mio_trace_counts trace;
	struct gn_mio_events_file events;
	uint64_t n_transfers;
	char layers[80];
};

/* Times of a report begin with the first file that is traced. */
static _Atomic uint64_t zero_ns;

static uint64_t since_zero(uint64_t ns)
{
	uint64_t none = 0;

	/* One less: times of an open file are not 0. */
	atomic_compare_exchange_strong(&zero_ns, &none, ns - 1);
	return ns - atomic_load(&zero_ns);
}

/* --- counting --------------------------------------------------------------------------------- */

struct call {
	enum gn_mio_operation operation;
	uint64_t begin_ns;
	int64_t offset;
	uint64_t bytes;
};

static struct call begin_call(enum gn_mio_operation operation, int64_t offset, uint64_t bytes)
{
	return (struct call){operation, gn_clock_ns(), offset, bytes};
}

static void end_call(struct gn_mio_layer *layer, const struct call *call, int64_t result)
{
	const uint64_t end_ns = gn_clock_ns();
	struct state *state = layer->state;
	struct gn_mio_calls *calls = &state->trace.calls[call->operation];
	const int is_transfer = call->operation == GN_MIO_READ || call->operation == GN_MIO_WRITE;
	struct gn_mio_event event;

	calls->calls++;
	calls->ns += end_ns - call->begin_ns;
	calls->failures += result < 0 && call->operation != GN_MIO_SEEK;
	if (is_transfer) {
		calls->asked += call->bytes;
		calls->delivered += result > 0 ? (uint64_t)result : 0;
		if (calls->calls == 1 || call->bytes < calls->least)
			calls->least = call->bytes;
		if (call->bytes > calls->most)
			calls->most = call->bytes;
	}
	if (!state->events.events ||
	    (is_transfer && state->n_transfers++ % (uint64_t)layer->setting[SAMPLE].number))
		return;
	event = (struct gn_mio_event){.operation = (uint16_t)call->operation,
				      .begin_ns = (int64_t)call->begin_ns,
				      .end_ns = (int64_t)end_ns,
				      .offset = call->offset,
				      .bytes = call->bytes,
				      .result = result};
	gn_mio_events_add(&state->events, &event);
}

static void set_size(struct gn_mio_trace_counts *trace, int64_t size)
{
	trace->size = size;
	if (size > trace->most_size)
		trace->most_size = size;
}

/* --- layer ------------------------------------------------------------------------------------ */

static void read_file_facts(struct gn_mio_layer *layer)
{
	struct gn_mio_trace_counts *trace = &((struct state *)layer->state)->trace;
	struct stat status;
	struct statfs system;

	if (gn_mio_below_status(layer, &status))
		return;
	trace->open_size = S_ISREG(status.st_mode) ? status.st_size : 0;
	trace->sector_bytes = status.st_blksize;
	set_size(trace, trace->open_size);
	if (!fstatfs(gn_mio_descriptor(layer), &system))
		trace->file_system = system.f_type & 0xffffffff;
}

static void name_layers(struct gn_mio_layer *layer)
{
	struct state *state = layer->state;
	const struct gn_mio_layer *above = layer->above;

	state->trace.above =
		above && above->module != &gn_mio_top ? above->module->name : "program";
	state->trace.below = layer->below ? layer->below->module->name : "system";
	snprintf(state->layers, sizeof(state->layers), "%s <-> %s", state->trace.above,
		 state->trace.below);
}

static int trace_open(struct gn_mio_layer *layer, struct gn_mio_open *file)
{
	struct state *state = layer->state;
	struct call call;
	int result;

	name_layers(layer);
	state->trace.path = layer->file->path;
	state->trace.flags = file->flags;
	state->trace.mode = file->mode;
	state->events.path = layer->file->path;
	state->events.layers = state->layers;
	if (layer->setting[EVENTS].number && layer->setting[EVENTS].text)
		state->events.events = gn_mio_events_of(layer->setting[EVENTS].text);
	call = begin_call(GN_MIO_OPEN, GN_MIO_NO_OFFSET, (uint64_t)file->flags);
	state->trace.opened_ns = since_zero(call.begin_ns);
	result = gn_mio_below_open(layer, file);
	end_call(layer, &call, result);
	if (!result)
		read_file_facts(layer);
	return result;
}

static ssize_t trace_read(struct gn_mio_layer *layer, void *to, size_t bytes, int64_t offset)
{
	const struct call call = begin_call(GN_MIO_READ, offset, bytes);
	const ssize_t result = gn_mio_below_read(layer, to, bytes, offset);

	end_call(layer, &call, result);
	return result;
}

static ssize_t trace_write(struct gn_mio_layer *layer, const void *from, size_t bytes,
			   int64_t offset)
{
	struct gn_mio_trace_counts *trace = &((struct state *)layer->state)->trace;
	const struct call call = begin_call(GN_MIO_WRITE, offset, bytes);
	const ssize_t result = gn_mio_below_write(layer, from, bytes, offset);

	end_call(layer, &call, result);
	if (result > 0) {
		/* Without an offset it is at the end. */
		const int64_t begin = offset == GN_MIO_NO_OFFSET ? trace->size : offset;

		if (begin + result > trace->size)
			set_size(trace, begin + result);
	}
	return result;
}

static int trace_seek(struct gn_mio_layer *layer, int64_t from, int64_t to)
{
	struct gn_mio_trace_counts *trace = &((struct state *)layer->state)->trace;
	const struct call call = begin_call(GN_MIO_SEEK, from, 0);
	const int result = gn_mio_below_seek(layer, from, to);

	if (to > from) {
		trace->forward++;
		trace->forward_bytes += (uint64_t)(to - from);
	} else if (to < from) {
		trace->backward++;
		trace->backward_bytes += (uint64_t)(from - to);
	}
	end_call(layer, &call, to);
	return result;
}

static int trace_status(struct gn_mio_layer *layer, struct stat *status)
{
	const struct call call = begin_call(GN_MIO_STATUS, GN_MIO_NO_OFFSET, 0);
	const int result = gn_mio_below_status(layer, status);

	end_call(layer, &call, result);
	return result;
}

static int trace_truncate(struct gn_mio_layer *layer, int64_t bytes)
{
	const struct call call = begin_call(GN_MIO_TRUNCATE, GN_MIO_NO_OFFSET, (uint64_t)bytes);
	const int result = gn_mio_below_truncate(layer, bytes);

	end_call(layer, &call, result);
	if (!result)
		set_size(&((struct state *)layer->state)->trace, bytes);
	return result;
}

static int trace_sync(struct gn_mio_layer *layer, int data_only)
{
	const struct call call = begin_call(GN_MIO_SYNC, GN_MIO_NO_OFFSET, 0);
	const int result = gn_mio_below_sync(layer, data_only);

	end_call(layer, &call, result);
	return result;
}

static int trace_control(struct gn_mio_layer *layer, int command, void *argument)
{
	const struct call call = begin_call(GN_MIO_CONTROL, GN_MIO_NO_OFFSET, (uint64_t)command);
	const int result = gn_mio_below_control(layer, command, argument);

	end_call(layer, &call, result);
	return result;
}

static int trace_close(struct gn_mio_layer *layer)
{
	struct gn_mio_trace_counts *trace = &((struct state *)layer->state)->trace;
	const struct call call = begin_call(GN_MIO_CLOSE, GN_MIO_NO_OFFSET, 0);
	const int result = gn_mio_below_close(layer);

	end_call(layer, &call, result);
	trace->closed_ns = since_zero(gn_clock_ns());
	return result;
}

/* What the parent did is in its own report. */
static void trace_forked(struct gn_mio_layer *layer)
{
	struct gn_mio_trace_counts *trace = &((struct state *)layer->state)->trace;

	memset(trace->calls, 0, sizeof(trace->calls));
	trace->forward = trace->backward = 0;
	trace->forward_bytes = trace->backward_bytes = 0;
	trace->opened_ns = since_zero(gn_clock_ns());
	trace->open_size = trace->most_size = trace->size;
}

static void trace_tell(struct gn_mio_layer *layer, struct gn_mio_output *output, int is_final)
{
	const struct state *state = layer->state;

	if (layer->setting[STATS].number)
		gn_mio_trace_print(output, &state->trace, layer->setting[UNIT].number, is_final,
				   since_zero(gn_clock_ns()));
}

const struct gn_mio_module gn_mio_trace = {
	.version = GN_MIO_VERSION,
	.state_bytes = sizeof(struct state),
	.name = "trace",
	.summary = "statistics and events of what passes",
	.option = options,
	.n_options = sizeof(options) / sizeof(*options),
	.n_settings = N_SETTINGS,
	.defaults = defaults,
	.open = trace_open,
	.read = trace_read,
	.write = trace_write,
	.seek = trace_seek,
	.status = trace_status,
	.truncate = trace_truncate,
	.sync = trace_sync,
	.control = trace_control,
	.close = trace_close,
	.tell = trace_tell,
	.forked = trace_forked,
};
