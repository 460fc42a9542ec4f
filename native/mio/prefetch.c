#include "prefetch.h"

#include "prefetch_device.h"
#include "system_calls.h"

#include <time.h>

/* Of advice: as io.md measured it, 64 requests ahead keep disks busy; of a sequential read, bytes.
 */
#define REQUESTS_AHEAD 64
#define ADVICE_BYTES (1 << 20)
#define ADVICE_AHEAD 8

#define PLAIN_REQUESTS 8
/* Files have few requests at large strides, and each of these waits for the disk. */
#define STRIDED_PLAIN_REQUESTS 4
#define PLAIN_BYTES (2 << 20)
#define FAR_KIB 1024
#define FAR_PLAIN_BYTES (8 << 20)

#define TRIAL_REQUESTS 128
#define TRIAL_BYTES (16 << 20)
/* A trial that goes so badly at first is over. */
#define FIRST_BYTES (4 << 20)
#define FIRST_GAIN 0.9
#define REST_BYTES (256 << 20)
#define HOT_REST_BYTES (32 << 20)
#define REST_DOUBLINGS 6

#define LEAST_GAIN 1.05
#define LEAST_FAR_GAIN 1.2 /* more to lose: what threads do depends on who else has the CPUs */
/* Bytes in a nanosecond at which copying is most of a read that the kernel has ahead. */
#define FAST_RATE 1.5
#define DECLINE 0.5
#define HOT_PERCENT 50
#define HOT_PLACES 8
#define HOT_STEP_BYTES (INT64_C(1) << 20)
#define UNKNOWN_KIB 8192

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin_phase(struct gn_prefetch *prefetch)
{
	prefetch->phase_ns = 0;
	prefetch->phase_bytes = 0;
	prefetch->phase_requests = 0;
}

static void stop(struct gn_prefetch *prefetch)
{
	if (prefetch->engine == GN_ENGINE_STREAM)
		gn_stream_forget(&prefetch->stream, 0, -1);
	prefetch->engine = GN_ENGINE_NONE;
	prefetch->is_steady = 0;
	begin_phase(prefetch);
}

/* Threads have delivered nothing. */
static int is_stream_dry(const struct gn_prefetch *prefetch)
{
	return prefetch->engine == GN_ENGINE_STREAM && !prefetch->stream.bytes_read;
}

/* No trial for a while: what was asked to help does not. */
static void step_aside(struct gn_prefetch *prefetch, struct gn_prefetch_trial *trial)
{
	prefetch->steps_aside++;
	if (is_stream_dry(prefetch)) {
		/* No O_DIRECT here, or no threads: advice is tried in their place. */
		prefetch->may_direct = 0;
		stop(prefetch);
		return;
	}
	trial->rest = (int64_t)REST_BYTES << trial->failures;
	if (trial->failures < REST_DOUBLINGS)
		trial->failures++;
	trial->plain_rate = 0;
	trial->best_rate = 0;
	stop(prefetch);
}

static int direction(const struct gn_prefetch *prefetch)
{
	return prefetch->kind == GN_PATTERN_BACKWARD || prefetch->distance < 0 ? -1 : 1;
}

static int64_t magnitude(int64_t number)
{
	return number < 0 ? -number : number;
}

/* Bytes from here to where the reads will end. */
static int64_t bytes_ahead(const struct gn_prefetch *prefetch, int64_t offset)
{
	return direction(prefetch) < 0 ? offset : prefetch->status.st_size - offset;
}

static int read_ahead_kib(struct gn_prefetch *prefetch)
{
	if (prefetch->read_ahead_kib < 0) {
		prefetch->read_ahead_kib = gn_device_read_ahead_kib(prefetch->status.st_dev);
		if (prefetch->read_ahead_kib < 0)
			prefetch->read_ahead_kib = UNKNOWN_KIB;
	}
	return prefetch->read_ahead_kib;
}

/* Of sequential reads by the kernel: it takes a while until it does, and is fast then. */
static int is_read_far_ahead(struct gn_prefetch *prefetch)
{
	return prefetch->kind == GN_PATTERN_SEQUENTIAL && read_ahead_kib(prefetch) >= FAR_KIB;
}

/* How far what the kernel has may come from its own reading ahead, or from advice. */
static int64_t reach(struct gn_prefetch *prefetch)
{
	/* Also of a trial that has ended. */
	if (prefetch->kind == GN_PATTERN_STRIDED)
		return prefetch->distance * (REQUESTS_AHEAD + 1);
	if (prefetch->engine == GN_ENGINE_ADVICE)
		return direction(prefetch) * (ADVICE_AHEAD + 1) * (int64_t)ADVICE_BYTES;
	if (prefetch->kind == GN_PATTERN_BACKWARD)
		return -HOT_STEP_BYTES;
	return read_ahead_kib(prefetch) * (int64_t)2048;
}

/* Whether the kernel has most of what comes next: then nothing is faster than it. */
static int is_hot(struct gn_prefetch *prefetch, int64_t offset, size_t bytes)
{
	const int64_t step = prefetch->kind == GN_PATTERN_STRIDED
				     ? prefetch->distance
				     : direction(prefetch) * HOT_STEP_BYTES;
	int64_t place = offset + reach(prefetch);
	int cached = 0, n = 0;

	for (; n < HOT_PLACES && place >= 0 && place < prefetch->status.st_size; n++) {
		int percent = gn_device_cached_percent(prefetch->fd, place, (int64_t)bytes);

		if (percent < 0)
			return 0;
		cached += percent;
		place += step;
	}
	/* Where the kernel reads ahead to the end by itself it is left to it. */
	return n ? cached / n >= HOT_PERCENT : prefetch->engine == GN_ENGINE_NONE;
}

static enum gn_prefetch_engine likely_engine(const struct gn_prefetch *prefetch)
{
	const int can_stream = prefetch->may_thread && prefetch->may_direct;

	if (prefetch->choice != GN_ENGINE_AUTO)
		return prefetch->choice == GN_ENGINE_STREAM && !can_stream ? GN_ENGINE_NONE
									   : prefetch->choice;
	if (prefetch->kind == GN_PATTERN_STRIDED || !can_stream)
		return GN_ENGINE_ADVICE;
	return GN_ENGINE_STREAM;
}

static void start(struct gn_prefetch *prefetch, struct gn_prefetch_trial *trial, int64_t offset,
		  size_t bytes)
{
	const enum gn_prefetch_engine engine = likely_engine(prefetch);
	const int is_forced = prefetch->choice != GN_ENGINE_AUTO;
	const int64_t least = prefetch->kind == GN_PATTERN_STRIDED
				      ? magnitude(prefetch->distance) * STRIDED_PLAIN_REQUESTS
				      : PLAIN_BYTES;

	if (engine == GN_ENGINE_NONE || gn_mio_system_status(prefetch->fd, &prefetch->status) ||
	    bytes_ahead(prefetch, offset) < least ||
	    (!is_forced && is_hot(prefetch, offset, bytes))) {
		trial->rest = is_forced && engine != GN_ENGINE_NONE ? 0 : HOT_REST_BYTES;
		trial->plain_rate = 0;
		begin_phase(prefetch);
		return;
	}
	if (engine == GN_ENGINE_STREAM) {
		if (!gn_stream_is_open(&prefetch->stream) &&
		    gn_stream_open(&prefetch->stream, prefetch->fd, &prefetch->status,
				   prefetch->window_bytes)) {
			step_aside(prefetch, trial);
			return;
		}
		prefetch->stream.file_bytes = prefetch->status.st_size;
		prefetch->stream.is_in_batches = prefetch->is_in_batches;
	}
	prefetch->engine = engine;
	prefetch->advised = 0;
	prefetch->misses = 0;
	prefetch->trials++;
	begin_phase(prefetch);
}

static void advise(struct gn_prefetch *prefetch, int64_t offset, size_t bytes)
{
	int64_t distance = prefetch->distance, length = (int64_t)bytes, ahead = REQUESTS_AHEAD;
	int64_t advised = prefetch->advised;

	if (prefetch->kind != GN_PATTERN_STRIDED && bytes < ADVICE_BYTES) {
		/* Pieces larger than requests: fewer calls. */
		if (advised && offset / ADVICE_BYTES == prefetch->piece)
			return;
		advised = advised ? ADVICE_AHEAD - 1 : 0;
		prefetch->piece = offset / ADVICE_BYTES;
		offset = prefetch->piece * ADVICE_BYTES;
		distance = direction(prefetch) * ADVICE_BYTES;
		length = ADVICE_BYTES;
		ahead = ADVICE_AHEAD;
	} else if (advised) {
		advised--; /* one request has come */
	}
	for (; advised < ahead; advised++) {
		const int64_t place = offset + (advised + 1) * distance;

		if (place < 0 || place >= prefetch->status.st_size)
			break;
		gn_mio_system_will_need(prefetch->fd, place, length);
		prefetch->advice++;
	}
	prefetch->advised = advised ? advised : 1;
}

/* As read(2) goes: what the window has, and the rest from below. */
static ssize_t read_stream(struct gn_prefetch *prefetch, char *to, size_t bytes, int64_t offset)
{
	size_t done = 0;
	ssize_t n;

	if (gn_stream_advance(&prefetch->stream, offset, direction(prefetch))) {
		step_aside(prefetch, &prefetch->trial[prefetch->kind]);
		return gn_mio_below_read(prefetch->layer, to, bytes, offset);
	}
	while (done < bytes) {
		const size_t part = gn_stream_read(&prefetch->stream, to + done, bytes - done,
						   offset + (int64_t)done);

		if (!part)
			break;
		done += part;
	}
	if (done == bytes)
		return (ssize_t)done;
	n = gn_mio_below_read(prefetch->layer, to + done, bytes - done, offset + (int64_t)done);
	return n >= 0 ? (ssize_t)done + n : done ? (ssize_t)done : n;
}

static ssize_t read_by(struct gn_prefetch *prefetch, void *to, size_t bytes, int64_t offset)
{
	const enum gn_prefetch_engine engine = prefetch->engine;
	ssize_t n;

	if (engine == GN_ENGINE_STREAM)
		n = read_stream(prefetch, to, bytes, offset);
	else
		n = gn_mio_below_read(prefetch->layer, to, bytes, offset);
	if (n > 0)
		prefetch->engine_bytes[engine] += (uint64_t)n;
	if (engine == GN_ENGINE_ADVICE)
		advise(prefetch, offset, bytes);
	return n;
}

static int is_plain_phase_over(struct gn_prefetch *prefetch)
{
	if (prefetch->kind == GN_PATTERN_STRIDED)
		return prefetch->phase_requests >= STRIDED_PLAIN_REQUESTS;
	if (prefetch->phase_requests < PLAIN_REQUESTS)
		return 0;
	if (prefetch->kind != GN_PATTERN_SEQUENTIAL)
		return 1;
	if (!is_read_far_ahead(prefetch))
		return prefetch->phase_bytes >= PLAIN_BYTES;
	if (prefetch->phase_bytes < FAR_PLAIN_BYTES)
		return 0;
	if (!prefetch->is_steady) {
		prefetch->is_steady = 1;
		begin_phase(prefetch);
		return 0;
	}
	return 1;
}

static double phase_rate(const struct gn_prefetch *prefetch)
{
	return prefetch->phase_ns ? (double)prefetch->phase_bytes / (double)prefetch->phase_ns : 0;
}

static int is_phase_over(struct gn_prefetch *prefetch, const struct gn_prefetch_trial *trial)
{
	if (prefetch->engine == GN_ENGINE_NONE)
		return is_plain_phase_over(prefetch);
	if (prefetch->kind == GN_PATTERN_STRIDED)
		return prefetch->phase_requests >= TRIAL_REQUESTS;
	return prefetch->phase_bytes >= TRIAL_BYTES ||
	       (!trial->best_rate && prefetch->phase_bytes >= FIRST_BYTES &&
		(is_stream_dry(prefetch) || phase_rate(prefetch) < FIRST_GAIN * trial->plain_rate));
}

static void end_phase(struct gn_prefetch *prefetch, struct gn_prefetch_trial *trial, int64_t offset,
		      size_t bytes)
{
	const double rate = phase_rate(prefetch);
	const double gain = is_read_far_ahead(prefetch) ? LEAST_FAR_GAIN : LEAST_GAIN;

	if (prefetch->engine == GN_ENGINE_NONE) {
		if (is_read_far_ahead(prefetch) && rate > FAST_RATE &&
		    prefetch->choice == GN_ENGINE_AUTO) {
			trial->rest = REST_BYTES;
			begin_phase(prefetch);
			return;
		}
		trial->plain_rate = rate;
		start(prefetch, trial, offset, bytes);
		return;
	}
	if (prefetch->choice != GN_ENGINE_AUTO) {
		begin_phase(prefetch);
	} else if (is_stream_dry(prefetch)) {
		step_aside(prefetch, trial);
	} else if (!trial->best_rate && rate < gain * trial->plain_rate) {
		/* The first time may have been the start of threads, or another program's turn. */
		if (prefetch->misses++)
			step_aside(prefetch, trial);
		else
			begin_phase(prefetch);
	} else if (trial->best_rate &&
		   (rate < DECLINE * trial->best_rate || rate < trial->plain_rate)) {
		/* The disk has got slower, or the engine has: both are measured anew. */
		trial->plain_rate = trial->best_rate = 0;
		if (prefetch->engine == GN_ENGINE_ADVICE) /* what was told of comes first */
			trial->rest = prefetch->kind == GN_PATTERN_STRIDED
					      ? REQUESTS_AHEAD * (int64_t)bytes
					      : ADVICE_AHEAD * (int64_t)ADVICE_BYTES;
		stop(prefetch);
	} else if (is_hot(prefetch, offset, bytes)) {
		trial->rest = HOT_REST_BYTES;
		stop(prefetch);
	} else {
		trial->failures = 0;
		if (rate > trial->best_rate)
			trial->best_rate = rate;
		begin_phase(prefetch);
	}
}

ssize_t gn_prefetch_read(struct gn_prefetch *prefetch, void *to, size_t bytes, int64_t offset)
{
	const enum gn_pattern_kind kind = gn_pattern_add(&prefetch->pattern, offset, bytes);
	struct gn_prefetch_trial *trial;
	uint64_t begin;
	ssize_t n;

	if (prefetch->fd < 0 || prefetch->choice == GN_ENGINE_NONE)
		return gn_mio_below_read(prefetch->layer, to, bytes, offset);
	if (kind != prefetch->kind ||
	    (kind == GN_PATTERN_STRIDED && prefetch->pattern.distance != prefetch->distance)) {
		stop(prefetch);
		prefetch->kind = kind;
		prefetch->distance = prefetch->pattern.distance;
	}
	trial = &prefetch->trial[kind];
	if (kind != GN_PATTERN_NONE && trial->rest > 0)
		trial->rest -= (int64_t)bytes;
	if (kind == GN_PATTERN_NONE || (trial->rest > 0 && prefetch->engine == GN_ENGINE_NONE))
		return read_by(prefetch, to, bytes, offset);
	if (prefetch->engine == GN_ENGINE_NONE &&
	    (trial->plain_rate > 0 || prefetch->choice != GN_ENGINE_AUTO))
		start(prefetch, trial, offset, bytes);
	begin = now_ns();
	n = read_by(prefetch, to, bytes, offset);
	prefetch->phase_ns += now_ns() - begin;
	if (n <= 0)
		return n;
	prefetch->phase_bytes += n;
	prefetch->phase_requests++;
	if (is_phase_over(prefetch, trial))
		end_phase(prefetch, trial, offset, bytes);
	return n;
}

int gn_prefetch_is_refill(const struct gn_prefetch *prefetch, int64_t offset)
{
	return prefetch->engine == GN_ENGINE_STREAM &&
	       offset / GN_STREAM_PAGE_BYTES != prefetch->stream.current;
}

void gn_prefetch_forget(struct gn_prefetch *prefetch, int64_t offset, int64_t bytes)
{
	if (prefetch->engine == GN_ENGINE_STREAM)
		gn_stream_forget(&prefetch->stream, offset, bytes);
}

void gn_prefetch_close(struct gn_prefetch *prefetch)
{
	gn_stream_close(&prefetch->stream);
	prefetch->engine = GN_ENGINE_NONE;
}
