/*
 * Reads ahead of a file's reads, by what pattern they have and what helps on this device.
 *
 * Once a pattern is sure, reads go on as they are for a while and are timed; then they are timed
 * with what is likely to help. It stays if it delivers more, or else steps aside, longer each time.
 */
#ifndef GNOMON_MIO_PREFETCH_H
#define GNOMON_MIO_PREFETCH_H

#include "mio_module.h"
#include "prefetch_pattern.h"
#include "prefetch_stream.h"

enum gn_prefetch_engine {
	GN_ENGINE_NONE,
	GN_ENGINE_ADVICE, /* the kernel is told of the next requests */
	GN_ENGINE_STREAM, /* helper threads read pages of 1 MiB past the kernel's cache */
	GN_ENGINE_AUTO,	  /* in settings only: by measurement */
};

/* What was learnt of a pattern, and of the engine for it. */
struct gn_prefetch_trial {
	double plain_rate; /* bytes in a nanosecond of reads; 0: to be measured */
	double best_rate;  /* with the engine; 0: on trial */
	int64_t rest;	   /* bytes before the next trial */
	unsigned int failures;
};

struct gn_prefetch {
	struct gn_mio_layer *layer;
	int fd; /* to give advice by; -1: none */
	int may_thread, may_direct;
	int is_in_batches;
	enum gn_prefetch_engine choice; /* GN_ENGINE_AUTO, or the only one */
	size_t window_bytes;
	struct stat status; /* at the open, and at the start of each trial */
	int read_ahead_kib; /* -1: not asked for yet */

	struct gn_pattern pattern;
	enum gn_pattern_kind kind; /* that is being measured or read ahead of */
	int64_t distance;
	enum gn_prefetch_engine engine;
	int64_t advised; /* requests, or pieces, after the last that the kernel was told of */
	int64_t piece;	 /* the number of the last */
	struct gn_prefetch_stream stream;
	struct gn_prefetch_trial trial[GN_PATTERN_KINDS];

	/* Of the phase that is being timed. */
	uint64_t phase_ns;
	int is_steady; /* the kernel reads as far ahead as it will */
	int64_t phase_bytes;
	unsigned int phase_requests;
	unsigned int misses; /* phases of this trial that did not help */

	/* For statistics. */
	uint64_t advice, trials, steps_aside;
	uint64_t engine_bytes[GN_ENGINE_AUTO];
};

/* What pread would return of the layer below. */
ssize_t gn_prefetch_read(struct gn_prefetch *prefetch, void *to, size_t bytes, int64_t offset);
/* Whether the next read may be served by what was read earlier, and is of another page than before.
 */
int gn_prefetch_is_refill(const struct gn_prefetch *prefetch, int64_t offset);
/* What was read ahead of these bytes may be old; bytes < 0: of all from there on. */
void gn_prefetch_forget(struct gn_prefetch *prefetch, int64_t offset, int64_t bytes);
void gn_prefetch_close(struct gn_prefetch *prefetch);

#endif
