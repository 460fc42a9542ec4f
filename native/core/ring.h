/*
 * The ring buffer into which the kernel writes what happens on one CPU, read record by record in
 * place. Source: perf_event_open(2), "MMAP layout".
 */
#ifndef GNOMON_CORE_RING_H
#define GNOMON_CORE_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a record has 16 bits. */
#define GN_RING_RECORD_MAX 65536u

struct gn_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const char *data;
	uint64_t bytes;	 /* of the data: a power of two */
	uint64_t tail;	 /* the next record to be read */
	uint64_t head;	 /* where the kernel was when gn_ring_look() was called */
	uint64_t spoilt; /* how often what was there was no record */
};

/* Maps `bytes` of data, a power of two of at least a page. 0 or a negative errno. */
int gn_ring_map(struct gn_ring *ring, int fd, uint64_t bytes);
void gn_ring_unmap(struct gn_ring *ring);

/* Looks how far the kernel has come. */
void gn_ring_look(struct gn_ring *ring);

/*
 * The next record, NULL if there is none. One that goes across the end of the buffer is put
 * together in `whole`, which has GN_RING_RECORD_MAX bytes. It stays until gn_ring_pass().
 */
const struct perf_event_header *gn_ring_next(struct gn_ring *ring, void *whole);
void gn_ring_pass(struct gn_ring *ring, const struct perf_event_header *record);

/* The time of the next record, where it stands in samples and in other records; UINT64_MAX: none.
 */
uint64_t gn_ring_next_time(struct gn_ring *ring, size_t of_sample, size_t before_end);

#endif
