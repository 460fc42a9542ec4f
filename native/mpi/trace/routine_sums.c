#include "routine_sums.h"

#include <gnomon/clock.h>
#include <gnomon/mpt_ids.h>
#include <stdatomic.h>
#include <stddef.h>

#include "totals_file.h"

/* Bytes in the upper bits, so that both change together. */
#define ROUTINE_BITS 12
static _Atomic uint64_t deepest;

uint32_t gn_trace_n_routines(void)
{
	const struct gn_totals_header *header = gn_totals_header();

	return header ? header->n_routines - 1 : 0;
}

const char *gn_trace_name(int id)
{
	const struct gn_totals_header *header = gn_totals_header();

	if (id < 1 || (uint32_t)id > gn_trace_n_routines())
		return NULL;
	return (const char *)header + header->names + (uint64_t)id * GN_TOTALS_NAME_BYTES;
}

int gn_trace_is_frame(int id)
{
	return id == MT_INIT_ID || id == MT_INIT_THREAD_ID || id == MT_FINALIZE_ID;
}

static int is_of(uint16_t routine, int id)
{
	return id ? routine == id : !gn_trace_is_frame(routine);
}

struct gn_trace_sum gn_trace_sum_of(int id)
{
	struct gn_trace_sum sum = {0, 0, 0};
	const union gn_totals_record *record;
	uint64_t n;

	record = gn_totals_records(&n);
	for (uint64_t i = 0; i < n; i++, record++) {
		if (record->kind == GN_TOTALS_SITE && is_of(record->site.routine, id)) {
			sum.calls += record->site.calls;
			sum.ticks += record->site.ticks;
		} else if (record->kind == GN_TOTALS_SIZE && is_of(record->size.routine, id)) {
			sum.bytes += record->size.bytes;
		}
	}
	return sum;
}

void gn_trace_sizes(int id, struct gn_trace_sum size[GN_TRACE_BINS])
{
	const union gn_totals_record *record;
	uint64_t n;

	record = gn_totals_records(&n);
	for (uint64_t i = 0; i < n; i++, record++) {
		if (record->kind != GN_TOTALS_SIZE || record->size.routine != id ||
		    record->size.class >= GN_TRACE_BINS)
			continue;
		size[record->size.class].calls += record->size.calls;
		size[record->size.class].bytes += record->size.bytes;
		size[record->size.class].ticks += record->size.ticks;
	}
}

void gn_trace_sent(double *bytes, int32_t n_ranks)
{
	const union gn_totals_record *record;
	uint64_t n;

	record = gn_totals_records(&n);
	for (uint64_t i = 0; i < n; i++, record++)
		if (record->kind == GN_TOTALS_MESSAGES && record->messages.peer >= 0 &&
		    record->messages.peer < n_ranks)
			bytes[record->messages.peer] += (double)record->messages.bytes;
}

double gn_trace_seconds(uint64_t ticks)
{
	return (double)ticks / gn_clock_hz();
}

double gn_trace_elapsed(void)
{
	const struct gn_totals_header *header = gn_totals_header();
	uint64_t end;

	if (!header || !header->up_ticks)
		return 0;
	end = header->down_ticks ? header->down_ticks : gn_clock_ticks();
	return gn_trace_seconds(end - header->up_ticks);
}

void gn_trace_note_stack(uint64_t bytes, uint32_t routine)
{
	const uint64_t now = bytes << ROUTINE_BITS | routine;
	uint64_t known = atomic_load_explicit(&deepest, memory_order_relaxed);

	while (now >> ROUTINE_BITS > known >> ROUTINE_BITS &&
	       !atomic_compare_exchange_weak(&deepest, &known, now))
		;
}

uint64_t gn_trace_deepest_stack(uint32_t *routine)
{
	const uint64_t known = deepest;

	*routine = known & ((1u << ROUTINE_BITS) - 1);
	return known >> ROUTINE_BITS;
}
