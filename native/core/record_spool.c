#include "record_spool.h"

#include <errno.h>

static uint64_t unit_bytes(const struct gn_spool *spool)
{
	return (uint64_t)GN_SPOOL_RECORDS * spool->record_bytes;
}

static uint64_t step_bytes(const struct gn_spool *spool)
{
	return unit_bytes(spool) / GN_SPOOL_STEPS;
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

/* The thread's unit is its records' own place, and has none. */
static void begin_unit(const struct gn_spool *spool, struct gn_spool_writer *writer)
{
	const uint64_t offset = (uint64_t)((char *)writer->unit - (char *)spool->file.start);
	const uint64_t unit = (offset - spool->begin) / unit_bytes(spool) + 1;

	atomic_store(&writer->unit->state, unit << 32);
	writer->next = (char *)writer->unit + spool->record_bytes;
}

static int map_unit(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	const uint64_t unit = take_unit(spool), begin = unit ? offset_of(spool, unit) : 0;
	int failed;

	if (!unit)
		return -ENOBUFS;
	failed = gn_mapped_file_provide(&spool->file, begin, begin + step_bytes(spool));
	if (failed)
		return failed;
	writer->unit = (struct gn_spool_unit *)(spool->file.start + begin);
	writer->unit->use = GN_SPOOL_MAPPED;
	writer->end = (char *)writer->unit + step_bytes(spool);
	begin_unit(spool, writer);
	return 0;
}

/* Of a thread that never fills its unit no more takes room on the disk than it needs. */
static int extend_unit(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	const uint64_t begin = (uint64_t)(writer->end - (char *)spool->file.start);
	const int failed = gn_mapped_file_provide(&spool->file, begin, begin + step_bytes(spool));

	if (!failed)
		writer->end += step_bytes(spool);
	return failed;
}

/* What the thread has filled is written to another unit. */
static int write_unit(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	const uint64_t unit = take_unit(spool), n = (uint32_t)atomic_load(&writer->unit->state);
	char *first = (char *)writer->unit + spool->record_bytes;
	char head[GN_SPOOL_RECORD_MOST] = {0};
	const struct gn_spool_unit written = {.state = unit << 32 | n, .use = GN_SPOOL_WRITTEN};
	const struct iovec parts[] = {
		{.iov_base = head, .iov_len = spool->record_bytes},
		{.iov_base = first, .iov_len = unit_bytes(spool) - spool->record_bytes},
	};
	int failed;

	if (!unit)
		return -ENOBUFS;
	__builtin_memcpy(head, &written, sizeof(written));
	/* Until they are all there, they are read here. */
	atomic_store(&writer->unit->state, written.state);
	failed = gn_mapped_file_write(&spool->file, parts, 2, offset_of(spool, unit));
	if (!failed)
		begin_unit(spool, writer);
	return failed;
}

int gn_spool_turn(struct gn_spool *spool, struct gn_spool_writer *writer)
{
	int failed = -atomic_load_explicit(&spool->error, memory_order_relaxed);

	if (!failed && !writer->unit)
		failed = map_unit(spool, writer);
	else if (!failed && writer->end < (char *)writer->unit + unit_bytes(spool))
		failed = extend_unit(spool, writer);
	else if (!failed)
		failed = write_unit(spool, writer);
	if (failed) {
		atomic_store(&spool->error, -failed);
		writer->next = writer->end;
	}
	return failed;
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
