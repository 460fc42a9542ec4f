/* What the module `trace` counts of a file, and its report. */
#ifndef GNOMON_MIO_TRACE_REPORT_H
#define GNOMON_MIO_TRACE_REPORT_H

#include "mio_module.h"
#include "trace_events.h"

struct gn_mio_calls {
	uint64_t calls, failures, ns;
	uint64_t asked, delivered; /* bytes */
	uint64_t least, most;	   /* asked for by a call */
};

struct gn_mio_trace_counts {
	struct gn_mio_calls calls[GN_MIO_OPERATIONS];
	uint64_t forward, backward;
	uint64_t forward_bytes, backward_bytes;
	uint64_t opened_ns, closed_ns; /* since MIO was called first; 0: it is open */
	int64_t open_size, size, most_size;
	int flags;
	mode_t mode;
	int64_t sector_bytes;
	int64_t file_system; /* statfs(2)'s f_type */
	const char *above, *below;
	const char *path;
};

/* `unit` is bytes of a unit: 1, 1024, ... */
void gn_mio_trace_print(struct gn_mio_output *output, const struct gn_mio_trace_counts *trace,
			int64_t unit, int is_final, uint64_t now_ns);

#endif
