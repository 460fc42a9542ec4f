/* The frames and modules that sites of calls are in, as far as they are known now. */
#ifndef GNOMON_MPI_TRACE_CALL_PLACES_H
#define GNOMON_MPI_TRACE_CALL_PLACES_H

#include <stdint.h>

struct gn_trace_frame {
	uint32_t caller, module; /* GN_TOTALS_NONE: not known */
	uint64_t offset;
};

struct gn_trace_module {
	char *path; /* NULL: not known */
	int build_id_bytes;
	uint8_t build_id[32];
};

struct gn_trace_places {
	uint32_t n_frames, n_modules;
	struct gn_trace_frame *frame;
	struct gn_trace_module *module;
};

/* NULL without memory. */
struct gn_trace_places *gn_trace_places_read(void);
void gn_trace_places_free(struct gn_trace_places *places);

/* NULL: it is not known. */
const struct gn_trace_module *gn_trace_module(const struct gn_trace_places *places,
					      uint32_t number);

/* So many callers up, or the outermost one; of one that is not known, no module. */
struct gn_trace_frame gn_trace_frame_above(const struct gn_trace_places *places, uint32_t number,
					   int level);

#endif
