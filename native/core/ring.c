#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int gn_ring_map(struct gn_ring *ring, int fd, uint64_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *start = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		return -errno;
	memset(ring, 0, sizeof(*ring));
	ring->page = start;
	ring->data = (const char *)start + page;
	ring->bytes = bytes;
	return 0;
}

void gn_ring_unmap(struct gn_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->bytes);
	ring->page = NULL;
}

void gn_ring_look(struct gn_ring *ring)
{
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void give_back(struct gn_ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

/* Records begin at multiples of 8 bytes: neither a header nor a number goes across the end. */
static const void *place(const struct gn_ring *ring, uint64_t position)
{
	return ring->data + (position & (ring->bytes - 1));
}

/* The header at the tail; what is no record is left out with everything behind it. */
static const struct perf_event_header *header_of(struct gn_ring *ring)
{
	const struct perf_event_header *header;

	if (ring->tail == ring->head)
		return NULL;
	header = place(ring, ring->tail);
	if (ring->head - ring->tail <= ring->bytes && header->size >= sizeof(*header) &&
	    header->size % 8 == 0 && header->size <= ring->head - ring->tail)
		return header;
	ring->spoilt++;
	ring->tail = ring->head;
	give_back(ring);
	return NULL;
}

const struct perf_event_header *gn_ring_next(struct gn_ring *ring, void *whole)
{
	const struct perf_event_header *header = header_of(ring);
	uint64_t first;

	if (!header)
		return NULL;
	first = ring->bytes - (ring->tail & (ring->bytes - 1));
	if (header->size <= first)
		return header;
	memcpy(whole, header, first);
	memcpy((char *)whole + first, ring->data, header->size - first);
	return whole;
}

void gn_ring_pass(struct gn_ring *ring, const struct perf_event_header *record)
{
	ring->tail += record->size;
	give_back(ring);
}

uint64_t gn_ring_next_time(struct gn_ring *ring, size_t of_sample, size_t before_end)
{
	const struct perf_event_header *header = header_of(ring);
	uint64_t offset;

	if (!header)
		return UINT64_MAX;
	offset = header->type == PERF_RECORD_SAMPLE ? of_sample : header->size - before_end;
	/* A record too short for a time comes at once: it is nothing that we asked for. */
	if (offset > header->size - sizeof(uint64_t))
		return 0;
	return *(const uint64_t *)place(ring, ring->tail + offset);
}
