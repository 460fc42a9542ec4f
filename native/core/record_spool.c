#include "record_spool.h"

#include <errno.h>

static uint64_t unit_bytes(const struct gn_spool *spool)
{
	return (uint64_t)GN_SPOOL_RECORDS * spool->record_bytes;
}

/* The number of a unit, from 1; 0: there is none any more. */
static uint64_t take_unit(struct gn_spool *spool)
{
	const uint64_t bytes = unit_bytes(spool), begin = atomic_fetch_add(spool->tail, bytes);

	if (begin + bytes <= spool->file.capacity)
		return (begin - spool->begin) / bytes + 1;
	atomic_fetch_sub(spool->tail, bytes);
	atomic_store(&spool->error, ENOBUFS);
	return 0;
}

static uint64_t offset_of(const struct gn_spool *spool, uint64_t unit)
{
	return spool->begin + (unit - 1) * unit_bytes(spool);
}

static int map_unit(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	const uint64_t unit = take_unit(spool), begin = unit ? offset_of(spool, unit) : 0;
	int failed;

	if (!unit)
		return -ENOBUFS;
	failed = gn_mapped_file_provide(&spool->file, begin, begin + unit_bytes(spool));
	if (!failed)
		writer->unit = (struct gn_spool_unit *)(spool->file.start + begin);
	return failed;
}

/* What the thread has filled is written to where it belongs. */
static int write_unit(struct gn_spool *spool, const struct gn_spool_writer *writer)
{
	const uint64_t state = atomic_load(&writer->unit->state);
	char *first = (char *)writer->unit + spool->record_bytes;
	char head[GN_SPOOL_RECORD_MOST] = {0};
	const struct gn_spool_unit written = {.state = state, .use = GN_SPOOL_WRITTEN};
	const struct iovec parts[] = {
		{.iov_base = head, .iov_len = spool->record_bytes},
		{.iov_base = first, .iov_len = unit_bytes(spool) - spool->record_bytes},
	};
	int failed;

	__builtin_memcpy(head, &written, sizeof(written));
	failed = gn_mapped_file_write(&spool->file, parts, 2, offset_of(spool, state >> 32));
	if (!failed)
		atomic_fetch_add_explicit(&spool->written, 1, memory_order_relaxed);
	return failed;
}

int gn_spool_turn(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	uint64_t unit;
	int failed;

	if (atomic_load_explicit(&spool->error, memory_order_relaxed))
		return -atomic_load(&spool->error);
	failed = writer->unit ? write_unit(spool, writer) : map_unit(spool, writer);
	if (failed) {
		atomic_store(&spool->error, -failed);
		return failed;
	}
	unit = take_unit(spool);
	/* In one piece with what was written: from now on the thread has no records here. */
	writer->next = writer->end = (char *)writer->unit + unit_bytes(spool);
	if (!unit)
		return -ENOBUFS;
	writer->unit->use = GN_SPOOL_MAPPED;
	atomic_store(&writer->unit->state, unit << 32);
	writer->next = (char *)writer->unit + spool->record_bytes;
	return 0;
}

uint64_t gn_spool_end(struct gn_spool *spool)
{
	const uint64_t bytes = unit_bytes(spool);
	const uint64_t most = spool->begin + (spool->file.capacity - spool->begin) / bytes * bytes;
	uint64_t tail;

	atomic_store(&spool->error, EBADF);
	/* Another thread may be about to give back what is behind the capacity. */
	tail = atomic_load(spool->tail);
	return tail < most ? tail : most;
}
